/* A multi-lock handle, as the files that make up its functions see it. */
#ifndef ZKLOCK_MULTI_LOCK_INTERNAL_H
#define ZKLOCK_MULTI_LOCK_INTERNAL_H

#include "client.h"
#include "zklock/multi_lock.h"
#include "zookeeper/create_group.h"
#include "zookeeper/request_runner.h"

typedef enum multi_state { MULTI_IDLE, MULTI_ACQUIRING, MULTI_HELD, MULTI_RELEASING } multi_state;

/** One of its resources. */
typedef struct multi_member {
    zkl_multi_lock *multi_lock;
    char *resource;
    char *path;
    zkl_contender_kind kind;
    zkl_request_runner *runner; /* of the attempt under way; NULL: its node is gone */
    bool granted;
} multi_member;

/* The second part belongs to the client's mutex. */
struct zkl_multi_lock {
    zkl_client *client;
    bool fail_on_session_expiry;
    int64_t max_hold_ms;
    zkl_class_metrics *metrics;
    size_t count;

    multi_state state;
    int verdict; /* of the attempt: of the first member that failed; ZKL_OK: none has */
    bool cancelled;
    const bool *called_off; /* no acquire goes on while it is true; NULL: never */
    int lost_reason;        /* after the grant of all; ZKL_OK: none is lost */
    bool pending;           /* a node is left behind by a session that was given up */
    int64_t token;
    zkl_create_group *group;
    size_t threads; /* inside a blocking call */
    bool closing;
    pthread_cond_t changed;
    multi_member members[];
};

/** With the mutex held: ends the acquire that waits, if one does; */
void zkl_multi_lock_call_off(zkl_multi_lock *self);
/** deletes the nodes, */
void zkl_multi_lock_release_members(zkl_multi_lock *self);
/** which goes on without us. */
void zkl_multi_lock_let_go(zkl_multi_lock *self);

#endif
