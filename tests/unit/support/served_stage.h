/*
 * A stage (run_stage.h) with a good server, which answers each request in its turn, after a latency
 * of the test's choice. It keeps the nodes that are made, and nobody else makes any. It is for what
 * must go well over a long time; what is heard is forgotten.
 */
#pragma once

#include "support/run_stage.h"

enum { SERVED_NODES_MAX = 8, SERVED_LATENCY_MS = 2 };

typedef struct served_stage {
    run_stage *stage;
    zkl_operations_table table; /* the stage's table, copied so that a test can change it */
    int64_t latency_ms;
    int64_t begun_ms;
    int64_t asked_ms[FAKE_CALLS_MAX]; /* when each call that waits was asked for */
    size_t known; /* how many of the calls that wait have their time in asked_ms */
    char nodes[SERVED_NODES_MAX][FAKE_CALL_SIZE];
    size_t node_count;
    int32_t next_sequence;
} served_stage;

/** Opens a stage that is connected, with a session of that timeout. */
served_stage *served_open(int32_t session_timeout_ms, int32_t lease_tick_ms);
/** Releases what is held, cancels what waits, and closes. */
void served_close(served_stage *served);

/** Lets milliseconds pass one by one until that moment, which counts from the opening. */
void served_pass_until(served_stage *served, int64_t ms);
void served_pass(served_stage *served, int64_t ms);

/** Breaks the connection: the answers to what is under way are lost. */
void served_disconnect(served_stage *served);
/** Connects the same session again, with the timeout that the servers grant now. */
void served_reconnect(served_stage *served, int32_t session_timeout_ms);
