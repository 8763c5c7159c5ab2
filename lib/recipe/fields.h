/*
 * The types of the fields of events, actions and states. These are listed once each, as
 * FIELD(of, TYPE, name) with zkl_field_TYPE for its type: the structs are made of the lists, and so
 * is all that the record of a client has to know of them (record_format.c).
 */
#pragma once

#include "recipe/contenders.h"

typedef bool zkl_field_FLAG;
typedef unsigned zkl_field_COUNT;
typedef unsigned zkl_field_BITS;
typedef int64_t zkl_field_NUMBER;
typedef int zkl_field_STATUS;
typedef const char *zkl_field_STRING; /* NULL: there is none */
typedef char zkl_field_GUID[ZKL_GUID_SIZE];
typedef char zkl_field_NAME[ZKL_NODE_NAME_SIZE];
typedef zkl_listed zkl_field_CHILDREN;
typedef zkl_mode zkl_field_MODE;

#define ZKL_FIELD(of, type, name) zkl_field_##type name;
