/* Lists of servers' addresses, "address:port,...", as connection/resolve.h makes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Nobody can connect to it, and that fails at once. */
#define ZKL_ADDRESS_OF_NOBODY "255.255.255.255:1"

/** Enough for the text of one address. */
enum { ZKL_ADDRESS_SIZE = 128 };

/** Whether the first `length` bytes of `address`, if any, are one of them. */
bool zkl_addresses_contain(const char *addresses, const char *address, size_t length);

/** Whether all of the `others` are among them. */
bool zkl_addresses_contain_all(const char *addresses, const char *others);

/** The length of the first one; 0: the list is empty. */
size_t zkl_addresses_first(const char *addresses);
/** What comes behind the first one. */
const char *zkl_addresses_rest(const char *addresses);
size_t zkl_addresses_count(const char *addresses);

/** Which ones to try when one of `rest` does not answer: the others of them; when that was the last
 *  one, the others of `all`. To be freed. "": there is no other; NULL: out of memory. */
char *zkl_addresses_others(const char *all, const char *rest, const char *silent);

/** Whether libzookeeper takes the `other` for the same as the one before it (lz-ports): there are
 * as many, and all hosts are among them, at whatever ports. */
bool zkl_addresses_look_same(const char *one, const char *other);

/** Whether both have the same ones, in whatever order. */
bool zkl_addresses_are_same(const char *one, const char *other);
