/* A handle: one contender, and the thread that has it lock and release. */
#pragma once

#include "calls.h"
#include "chance.h"
#include "client.h"

#include <pthread.h>
#include <zklock/election.h>
#include <zklock/striped_lock.h>

struct contender {
    struct options options;
    struct client clients[CLIENT_ROLES];
    int finish; /* an eventfd: readable when it is to finish */
};

enum { RESOURCE_SIZE = 128, RESOURCES_MAX = 3 };

struct handle {
    struct caller caller;
    struct contender *contender;
    const struct kind *kind;
    struct client *client;
    struct chance chance;
    pthread_t thread;
    bool is_open;
    char resources[RESOURCES_MAX][RESOURCE_SIZE]; /* drawn whenever it is opened */
    size_t resource_count;                        /* one, but for a set */
    zkl_lock *lock;                               /* that is acquired */
    zkl_striped_lock *striped_lock;
    zkl_election *election;
    zkl_observer *observer;
    bool tells_contended, fails_on_session_expiry; /* options, drawn whenever it is opened */
    zkl_grant grant;                               /* the last one */
    atomic_int_fast64_t contended; /* the token of the last grant that somebody waits behind */
    int holds;                     /* how often a reentrant one was acquired */
    int store;                     /* its connection to the store; 0: none */
    struct {
        int64_t token, local_number;
    } claimed;        /* the last token that the store has taken */
    bool has_no_mark; /* the node of guarded_commit is yet to be made */
};

/** Prepares a handle, and starts its thread. Returns 0, or an errno. */
int handle_start(struct handle *handle, struct contender *contender, const struct kind *kind,
                 int32_t number);
/** Waits until it has ended its last round, and is closed. */
void handle_join(struct handle *handle);

/** Pauses, but no longer than until the contender is to finish. Returns whether it is. */
bool contender_pause(const struct contender *contender, int64_t time_ms);
bool handle_pause(const struct handle *handle, int64_t time_ms);
