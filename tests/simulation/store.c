#include "store.h"

#include <stddef.h>
#include <string.h>

#include "plan.h"

typedef struct store {
    int64_t fence;
    int64_t last_writer; /* its token */
    int64_t value;
    int64_t writes; /* that were taken */
} store;

static store stores[PLAN_RESOURCES_MAX];

void store_begin(void) {
    memset(stores, 0, sizeof(stores));
}

bool store_claim(unsigned resource, int64_t token, int64_t *value) {
    store *self = &stores[resource];
    if (token < self->fence) {
        return false;
    }
    self->fence = token;
    *value = self->value;
    return true;
}

const char *store_write(unsigned resource, int64_t token, int64_t value) {
    store *self = &stores[resource];
    if (token != self->fence) {
        return NULL;
    }
    if (token <= self->last_writer) {
        return "a write with a token that has written before, or with an older one";
    }
    if (value != self->value + 1) {
        return "a write that loses another's";
    }
    self->last_writer = token;
    self->value = value;
    self->writes++;
    return NULL;
}

const char *store_judge(unsigned resource) {
    const store *self = &stores[resource];
    return self->value == self->writes ? NULL : "its value is not the number of its writes";
}
