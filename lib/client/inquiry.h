/*
 * Questions to the servers, many at once. The calling thread waits for the answers. A question that
 * is lost with its connection, or cannot be sent, is asked again until the deadline, so it must be
 * safe to ask twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "session/sender.h"
#include "zklock/zklock.h"

/** Questions with one deadline. What it hands out lives until zkl_inquiry_end. */
typedef struct zkl_inquiry {
    zkl_client *client;
    int64_t deadline_ms;
    int64_t not_before_ms; /* nothing is asked earlier, after a failure */
    size_t under_way;      /* how many questions */
    zkl_pool pool;
} zkl_inquiry;

/** The caller fills the first three fields; the others begin zeroed. */
typedef struct zkl_question {
    zkl_operation_kind kind;
    const char *path; /* NULL: out of memory, and nothing is asked */
    const char *data; /* for SET the data, for SET_ACL the ACL */
    zkl_inquiry *inquiry;
    zkl_reply reply;  /* valid once zkl_inquiry_try has returned ZKL_OK: OK, NO_NODE or REFUSED */
    bool asked_again; /* an earlier time may have been carried out: NO_NODE may be our own doing */
    bool answered;
    zkl_sent *under_way;
} zkl_question;

/** Checks what all functions of administration.h are given, and keeps the client. ZKL_OK:
 *  zkl_inquiry_end is to follow. */
int zkl_inquiry_begin(zkl_inquiry *inquiry, zkl_client *client, int64_t timeout_ms);
void zkl_inquiry_end(zkl_inquiry *inquiry);

/** Returns the full path of a resource that has been checked, or of the lock root. NULL: out of
 *  memory. */
const char *zkl_inquiry_path(zkl_inquiry *inquiry, const char *resource);
const char *zkl_inquiry_lock_root(const zkl_inquiry *inquiry);

/** Returns the full path of a path below the chroot. NULL: out of memory. */
const char *zkl_inquiry_full_path(zkl_inquiry *inquiry, const char *path);

/** Returns "<parent>/<name>". NULL: out of memory, or `parent` is NULL. */
const char *zkl_inquiry_child_path(zkl_inquiry *inquiry, const char *parent, const char *name);

/** Returns room for `count` questions. NULL: out of memory. */
zkl_question *zkl_inquiry_questions(zkl_inquiry *inquiry, size_t count);

/** Asks all of them, and waits for their answers. ZKL_OK, ZKL_TIMEOUT, ZKL_CLOSED, ZKL_AUTH_FAILED
 *  or ZKL_NO_MEMORY. */
int zkl_inquiry_try(zkl_inquiry *inquiry, zkl_question *questions, size_t count);
/** Returns ZKL_OK unless one of them was refused; else why, and leaves a message that names the
 *  path. */
int zkl_questions_status(const zkl_question *questions, size_t count);
/** Calls zkl_inquiry_try, and then zkl_questions_status. */
int zkl_inquiry_ask(zkl_inquiry *inquiry, zkl_question *questions, size_t count);
/** Asks one. `data`: as in zkl_question. */
int zkl_inquiry_ask_one(zkl_inquiry *inquiry, zkl_operation_kind kind, const char *path,
                        const char *data, zkl_question **question);

/** Waits for `ms`. ZKL_OK, ZKL_TIMEOUT, ZKL_CLOSED or ZKL_AUTH_FAILED. */
int zkl_inquiry_pause(zkl_inquiry *inquiry, int64_t ms);

/** Returns the number of the session that is asked now, or of none where the client is closed. A
 *  later session may answer with what is older. */
uint64_t zkl_inquiry_session(const zkl_inquiry *inquiry);
