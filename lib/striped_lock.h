/* A striped lock handle, as the files that make up its functions see it. It is made of the handles
 * of its stripes, each a lock, and of those for all of them, each a multi-lock. */
#ifndef ZKLOCK_STRIPED_LOCK_INTERNAL_H
#define ZKLOCK_STRIPED_LOCK_INTERNAL_H

#include "lock.h"
#include "multi_lock.h"
#include "zklock/striped_lock.h"

typedef enum striped_state {
    STRIPED_IDLE,
    STRIPED_ACQUIRING,
    STRIPED_HELD,
    STRIPED_RELEASING
} striped_state;

/** What an acquire asks of which stripes, one after the other. */
typedef struct stripe_search {
    zkl_mode mode;
    int64_t timeout_ms;
    int32_t stripe;  /* that is waited for in the end; ZKL_ALL_STRIPES: all, and nothing else */
    int32_t tries;   /* so many stripes are tried before that, from that one on; 0: none */
    int32_t asked;   /* so many stripes have been asked for so far; */
    int32_t last;    /* the last of them, */
    int64_t last_ms; /* for so long */
    int64_t began_ms;
} stripe_search;

typedef struct stripe_call stripe_call;

/* Modes of all stripes: ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE. */
enum { STRIPED_MODES = 3 };

/* The second part belongs to the client's mutex. */
struct zkl_striped_lock {
    zkl_handle open; /* first */
    zkl_client *client;
    char *resource;
    char *resource_class;
    char *owner; /* NULL: not named */
    zkl_lock_options options;
    int32_t stripes;

    striped_state state;
    bool cancelled;
    bool closing;
    stripe_search search;               /* of what is acquired, or held */
    zkl_multi_lock *all[STRIPED_MODES]; /* NULL: not needed so far */
    stripe_call *call;                  /* asynchronous, under way; NULL: none */
    size_t steps;                       /* of it, between one stripe and the next */
    pthread_cond_t changed;
    zkl_lock *locks[];
};

/** The arguments that all have, before the client's mutex is taken. */
int zkl_striped_lock_check_handle(const zkl_striped_lock *self);
int zkl_striped_lock_check_call(const zkl_striped_lock *self, int64_t timeout_ms);

/** The three ways to acquire. */
stripe_search zkl_striped_lock_search_key(const zkl_striped_lock *self, const void *key,
                                          size_t size, zkl_mode mode, int64_t timeout_ms);
stripe_search zkl_striped_lock_search_any(const zkl_striped_lock *self, zkl_mode mode,
                                          int64_t timeout_ms);
stripe_search zkl_striped_lock_search_all(zkl_mode mode, int64_t timeout_ms);

/** Without the mutex, as are those below. ZKL_OK: the handle is busy with it. `call`: NULL, a
 *  thread waits. */
int zkl_striped_lock_begin_acquire(zkl_striped_lock *self, const stripe_search *search,
                                   stripe_call *call);
/** Whether another stripe is to be asked for, as `status` is how the last one ended; else that is
 *  how it ends. */
bool zkl_striped_lock_asks_on(zkl_striped_lock *self, int *status);
/** Of all: opened where it is needed for the first time. */
int zkl_striped_lock_open_all(zkl_striped_lock *self, zkl_mode mode, zkl_multi_lock **all);
/** With the mutex. Gives what the caller is to be told, and on ZKL_OK fills in the grant (NULL is
 *  fine) but its token. */
int zkl_striped_lock_end_acquire(zkl_striped_lock *self, int status, zkl_stripe_grant *grant);

/** ZKL_OK: it is held no more. */
int zkl_striped_lock_begin_release(zkl_striped_lock *self, stripe_call *call);
/** What is released: NULL, all are, which are `all`. */
zkl_lock *zkl_striped_lock_held(const zkl_striped_lock *self, zkl_multi_lock **all);
void zkl_striped_lock_set_state(zkl_striped_lock *self, striped_state state);

/** With the mutex: the handle is being closed; what a call under way owes is told without it. */
void zkl_striped_lock_calls_leave(zkl_striped_lock *self);

#endif
