/*
 * Questions to the servers that a thread waits for: the asynchronous requests of the
 * operations table, many at once, and a condition variable. What is lost with a
 * connection, or turned away, is asked again until the deadline; so each question
 * must be one that can be asked twice.
 */
#ifndef ZKLOCK_ADMINISTRATION_INQUIRY_H
#define ZKLOCK_ADMINISTRATION_INQUIRY_H

#include "client.h"

/** So many questions are under way at a time. */
#define ZKL_QUESTIONS_AT_ONCE 128

typedef struct zkl_question_call zkl_question_call;

typedef struct zkl_question {
    zkl_operation_kind kind;
    char *path;
    const char *data; /* SET */
    zkl_reply reply;  /* once zkl_inquiry_ask has returned ZKL_OK: OK, NO_NODE or REFUSED */
    bool asked_again; /* an earlier time may have been carried out: NO_NODE may be our own doing */
    bool answered;
    void *held;              /* the memory of the reply's strings */
    zkl_question_call *call; /* under way */
} zkl_question;

typedef struct zkl_inquiry {
    zkl_client *client;
    int64_t deadline_ms;
    int64_t not_before_ms; /* after a failure */
    size_t under_way;
    bool no_memory;
    bool asked;              /* in session `session_number` */
    uint64_t session_number; /* of the client's first session */
    bool session_changed;    /* between two questions: what was told may go back in time */
} zkl_inquiry;

/** Checks what all functions of administration.h are given, and keeps the client. ZKL_OK:
 *  zkl_inquiry_end is to follow. */
int zkl_inquiry_begin(zkl_inquiry *inquiry, zkl_client *client, int64_t timeout_ms);
void zkl_inquiry_end(zkl_inquiry *inquiry);

/** Asks all of them, and waits for their answers. ZKL_OK, ZKL_TIMEOUT, ZKL_CLOSED, ZKL_AUTH_FAILED
 *  or ZKL_NO_MEMORY. */
int zkl_inquiry_ask(zkl_inquiry *inquiry, zkl_question *questions, size_t count);

/** Waits for so long. ZKL_OK, ZKL_TIMEOUT or ZKL_CLOSED. */
int zkl_inquiry_pause(zkl_inquiry *inquiry, int64_t ms);

/** Takes the path over; NULL: the answer will be ZKL_NO_MEMORY. */
void zkl_question_begin(zkl_question *question, zkl_operation_kind kind, char *path);
/** Of many; NULL is fine. */
void zkl_questions_free(zkl_question *questions, size_t count);
/** ZKL_OK unless it was refused; then why, and a message that names the path. */
int zkl_question_status(const zkl_question *question);

/** "<parent>/<name>". NULL: out of memory. Free it. */
char *zkl_path_below(const char *parent, const char *name);

#endif
