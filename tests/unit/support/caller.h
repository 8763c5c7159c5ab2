/*
 * A client of the simulated ensemble without any of zklock's protocol: it sends what the test says,
 * and notes each answer and event in a line:
 *
 *     connecting, connected, expired
 *     create OK /a/b-0000000000       as asked for: create, parent, list, exists, delete
 *     list OK x y                     in alphabetical order
 *     exists NO_NODE
 *     watch 7 deleted                 or changed
 */
#pragma once

#include <pthread.h>

#include "connection/connection.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"

enum { CALLER_LOG_SIZE = 4096, MS = 1000 };

typedef struct caller {
    pthread_mutex_t mutex;
    zkl_connection *connection;
    zkl_operations *operations;
    int64_t session_id; /* that of the latest connection */
    int32_t timeout_ms;
    char log[CALLER_LOG_SIZE];
} caller;

/** Returns the options of an ensemble that is as quick as it can be, with ticks of 100 ms. */
zkl_ensemble_options caller_options(void);
/** Begins a world with an ensemble. options: NULL, those of caller_options. */
zkl_ensemble *caller_world_begin(uint64_t seed, const zkl_ensemble_options *options);
/** Ends the world. All callers must be closed. */
void caller_world_end(void);

/** Begins to connect. A caller is of the process that was entered, if one was. */
void caller_open(caller *self, int32_t timeout_ms);
/** Connects to that server, and waits until it is connected. */
void caller_open_on(caller *self, int32_t timeout_ms, uint32_t server);
void caller_close(caller *self);

zkl_outcome caller_create(caller *self, const char *path);
zkl_outcome caller_make_parent(caller *self, const char *path);
zkl_outcome caller_make_container(caller *self, const char *path);
zkl_outcome caller_list(caller *self, const char *path);
/** Asks whether a node exists. watch: the watch's number; 0: no watch. */
zkl_outcome caller_exists(caller *self, const char *path, uint64_t watch);
zkl_outcome caller_delete(caller *self, const char *path);
zkl_outcome caller_transact(caller *self, const zkl_multi_operation *operations, size_t count);

/** Lets time pass. */
void run_ms(int64_t ms);

/** Compares what was noted since the last time, line by line. */
#define EXPECT_LOG(self, ...)                                                                      \
    caller_expect_log((self), (const char *const[]){ __VA_ARGS__, NULL }, __FILE__, __LINE__)
#define EXPECT_NO_LOG(self) EXPECT_TEXT((self)->log, "")
void caller_expect_log(caller *self, const char *const *lines, const char *file, int line);
void caller_forget_log(caller *self);
