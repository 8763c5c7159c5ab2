/* The kinds of contenders: what is opened, and what a round of it does. */
#pragma once

#include "handle.h"

#include <stddef.h>

/** How many permits each semaphore has: all who use one must say the same. */
enum { PERMITS_OF_ALL = 2 };
/** Most relatives of a handle. */
enum { RELATIVES_MAX = 2 };

/** Opens and closes what a handle of some kinds is. */
struct opening {
    void (*open)(struct handle *handle);
    void (*close)(struct handle *handle);
};

struct kind {
    const char *name;
    const char *family; /* of its resources: kinds of one family contend with each other */
    const struct opening *opening;
    bool (*acquire)(struct handle *handle); /* whether it was granted; then: */
    void (*hold)(struct handle *handle);
    void (*release)(struct handle *handle);
    client_role client;
    zkl_mode mode;
    int32_t permits; /* 0: a lock */
    bool is_reentrant;
    int32_t relatives; /* more handles that come with each, as such kinds do nothing alone */
    int32_t hand_offs; /* this, or retain_ms: handles of the process share a place in the queue */
    int64_t hand_off_ms;
    int64_t retain_ms;
    int64_t max_hold_ms;
    bool needs_lease;
    /* A holder that looks does so once in so many times instead; 0: never. */
    int32_t writes_once_in;  /* writes to the store, if there is one */
    int32_t commits_once_in; /* commits a guarded transaction */
};

/** Returns the kind of that name, which need not end with a NUL, or NULL. */
const struct kind *kind_of_name(const char *name, size_t length);
/** Prints the names of all. */
void kinds_print(void);
