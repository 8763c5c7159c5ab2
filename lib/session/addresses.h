/* Lists of servers' addresses, "address:port,...", as session/resolve.h makes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Nobody can connect to it, and that fails at once. */
#define ZKL_ADDRESS_OF_NOBODY "255.255.255.255:1"

/** Whether the first `length` bytes of `address`, if any, are one of them. */
bool zkl_addresses_contain(const char *addresses, const char *address, size_t length);

/** The length of the first one; 0: the list is empty. */
size_t zkl_addresses_first(const char *addresses);
/** What comes behind the first one. */
const char *zkl_addresses_rest(const char *addresses);

/** Whether both have the same ones, in whatever order. */
bool zkl_addresses_are_same(const char *one, const char *other);
