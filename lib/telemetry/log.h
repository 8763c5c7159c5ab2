/* The structured log of one client: copies records and delivers them on a thread
 * of its own. */
#pragma once

#include <stdbool.h>

#include "zklock/zklock.h"

typedef struct zkl_log zkl_log;

/** Records that wait for the callback; more are dropped, and counted. */
#define ZKL_LOG_QUEUE_MAX 1024

/** NULL: out of memory, or no thread could be started. */
zkl_log *zkl_log_open(zkl_log_callback *callback, void *arg, zkl_log_level level);
/** Delivers the records that wait, and frees it. Nobody writes to it any more. Not from a
 *  callback. NULL is fine. */
void zkl_log_close(zkl_log *log);

/** Whether a record of this level would be delivered. A NULL log wants none. */
bool zkl_log_wants(const zkl_log *log, zkl_log_level level);
/** A record with every other field empty. */
zkl_log_record zkl_log_record_begin(const char *owner, int64_t session_id);
/** Delivers a copy that also has the level, the event and the status. Any thread, with or without
 *  the client's mutex. */
void zkl_log_write(zkl_log *log, zkl_log_level level, zkl_log_event event, int status,
                   const zkl_log_record *record);

/** What libzookeeper is given to log with: each line goes to every open log. */
void zkl_log_zookeeper_line(const char *line);
