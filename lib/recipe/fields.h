/*
 * The types of the fields of events, actions and states. Each struct's fields are listed once, as
 * FIELD(of, TYPE, name), where zkl_field_TYPE is the field's type. The structs are made of these
 * lists, and so is all that the record of a client knows of them (record_format.c).
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
typedef zkl_naming zkl_field_NAMING;

#define ZKL_FIELD(of, type, name) zkl_field_##type name;
