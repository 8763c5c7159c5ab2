#include "connection/addresses.h"

#include <stdlib.h>
#include <string.h>

size_t zkl_addresses_first(const char *addresses) {
    return strcspn(addresses, ",");
}

const char *zkl_addresses_rest(const char *addresses) {
    addresses += zkl_addresses_first(addresses);
    return addresses + (*addresses == ',' ? 1 : 0);
}

size_t zkl_addresses_count(const char *addresses) {
    size_t count = 0;
    for (; *addresses != '\0'; addresses = zkl_addresses_rest(addresses)) {
        count++;
    }
    return count;
}

/* To be freed; NULL: out of memory. */
static char *without(const char *addresses, const char *address) {
    char *others = calloc(1, strlen(addresses) + 1);
    char *end = others;
    for (; others != NULL && *addresses != '\0'; addresses = zkl_addresses_rest(addresses)) {
        size_t length = zkl_addresses_first(addresses);
        if (strlen(address) == length && strncmp(addresses, address, length) == 0) {
            continue;
        }
        if (end > others) {
            *end++ = ',';
        }
        end = (char *)memcpy(end, addresses, length) + length;
    }
    return others;
}

char *zkl_addresses_others(const char *all, const char *rest, const char *silent) {
    char *others = without(rest, silent);
    if (others == NULL || others[0] != '\0') {
        return others;
    }
    free(others);
    return without(all, silent);
}

bool zkl_addresses_contain(const char *addresses, const char *address, size_t length) {
    for (; *addresses != '\0' && length > 0; addresses = zkl_addresses_rest(addresses)) {
        if (zkl_addresses_first(addresses) == length && strncmp(addresses, address, length) == 0) {
            return true;
        }
    }
    return false;
}

bool zkl_addresses_contain_all(const char *addresses, const char *others) {
    bool all = true;
    for (; all && *others != '\0'; others = zkl_addresses_rest(others)) {
        all = zkl_addresses_contain(addresses, others, zkl_addresses_first(others));
    }
    return all;
}

bool zkl_addresses_are_same(const char *one, const char *other) {
    return strlen(one) == strlen(other) && zkl_addresses_contain_all(other, one) &&
           zkl_addresses_contain_all(one, other);
}

/* Without the port. */
static size_t host_length(const char *address) {
    size_t length = zkl_addresses_first(address);
    const char *colon = memrchr(address, ':', length);
    return colon != NULL ? (size_t)(colon - address) : length;
}

static bool has_host(const char *addresses, const char *address) {
    size_t length = host_length(address);
    while (*addresses != '\0' &&
           (host_length(addresses) != length || strncmp(addresses, address, length) != 0)) {
        addresses = zkl_addresses_rest(addresses);
    }
    return *addresses != '\0';
}

bool zkl_addresses_look_same(const char *one, const char *other) {
    bool same = zkl_addresses_count(one) == zkl_addresses_count(other);
    for (; same && *one != '\0'; one = zkl_addresses_rest(one)) {
        same = has_host(other, one);
    }
    return same;
}
