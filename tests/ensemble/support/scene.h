/*
 * What nearly every test needs: clients, handles on a resource of the test's
 * own, contenders that wait in threads, and a look at the queue.
 */
#pragma once

#include "support/raw.h"
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>

/** Where nothing is meant to expire. */
#define LONG_SESSION_MS 20000
/** Where something is; 4 ticks, and enough for a loaded machine to keep alive. */
#define SHORT_SESSION_MS 2000

/** A resource that no other test uses, and a look at the servers. */
struct scene {
    char resource[128];
    char path[256]; /* of the resource's node */
    zhandle_t *raw; /* connected to any server */
};

void scene_begin(struct scene *scene, const char *stem);
/** Asserts that no node and no watch of any kind is left of the resource. */
void scene_end(struct scene *scene);
/** Nodes in the queue, as of now: a sync comes first. */
int scene_queue(struct scene *scene);
/** Watches on the queue's nodes, on all servers: one for each blocker that a
 *  client waits for. A session's watches on its own nodes do not count: by them
 *  it learns that somebody has deleted one. */
int scene_watches(struct scene *scene);
/** The same for one node of the queue. */
int scene_watches_on(struct scene *scene, const char *node);

/** Ends the program where the client cannot be opened. */
zkl_client *client_open(const char *hosts, int32_t session_timeout_ms);
/** Others may set the data of its nodes. */
zkl_client *client_open_unprotected(const char *hosts, int32_t session_timeout_ms);
/** The same on one server alone, by number. */
zkl_client *client_open_on(int server);
void client_close(zkl_client *client);
zkl_client_information client_information(zkl_client *client);

zkl_lock *lock_open(zkl_client *client, const char *resource);

/** An acquire in a thread of its own. */
struct waiter {
    zkl_lock *lock;
    zkl_mode mode;
    int64_t timeout_ms;
    int status;
    int64_t returned_at_ms;
    zkl_grant grant;
    atomic_bool done;
    pthread_t thread;
};

void waiter_start(struct waiter *waiter, zkl_lock *lock, zkl_mode mode, int64_t timeout_ms);
bool waiter_is_done(struct waiter *waiter);
/** Waits for the acquire to return, and returns its status. */
int waiter_join(struct waiter *waiter);

void thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
