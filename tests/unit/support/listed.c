#include "support/listed.h"

#include <stdlib.h>

enum { KEPT = 16 };

zkl_listed listed(zkl_children children) {
    static zkl_neighbour *kept[KEPT];
    static size_t made;
    zkl_neighbour **room = &kept[made++ % KEPT];
    free(*room);
    *room = calloc(children.count > 0 ? children.count : 1, sizeof(**room));
    if (*room == NULL) {
        abort();
    }
    return zkl_contenders_read(children, *room);
}
