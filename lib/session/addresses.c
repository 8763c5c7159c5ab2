#include "session/addresses.h"

#include <string.h>

size_t zkl_addresses_first(const char *addresses) {
    return strcspn(addresses, ",");
}

const char *zkl_addresses_rest(const char *addresses) {
    addresses += zkl_addresses_first(addresses);
    return addresses + (*addresses == ',' ? 1 : 0);
}

bool zkl_addresses_contain(const char *addresses, const char *address, size_t length) {
    for (; *addresses != '\0' && length > 0; addresses = zkl_addresses_rest(addresses)) {
        if (zkl_addresses_first(addresses) == length && strncmp(addresses, address, length) == 0) {
            return true;
        }
    }
    return false;
}

bool zkl_addresses_are_same(const char *one, const char *other) {
    bool same = strlen(one) == strlen(other);
    for (; same && *one != '\0'; one = zkl_addresses_rest(one)) {
        same = zkl_addresses_contain(other, one, zkl_addresses_first(one));
    }
    return same;
}
