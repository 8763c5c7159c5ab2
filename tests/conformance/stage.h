/*
 * What a conversation needs of the world beside the connection that it is about:
 * the servers, other people's doings on them, and ways to cut a connection. There
 * are two of them: stage_simulated.c and stage_real.c, each for a program of its own.
 *
 * Paths are below a root of the conversation's own, and begin with a slash.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** "simulated" or "real". */
const char *stage_name(void);
/** Whether the expected transcripts are to be written from what happens on it. */
bool stage_is_the_measure(void);
/** How often each conversation is held: other servers, or another seed, each time. */
int stage_passes(void);

void stage_program_begin(void);
/** An empty root. Each conversation that has begun is to be ended. */
void stage_begin(int pass);
/** Speakers have left. */
void stage_end(void);

/** The full path of the root; it does not end with a slash. */
const char *stage_root(void);
/** Lets a little time pass. */
void stage_nap(void);

/* ---- By hand, as somebody else: committed when it returns --------------------------- */

void stage_make(const char *path);
void stage_delete(const char *path);
/** Another session enters, of which there is one at a time. */
int64_t stage_stranger_enter(void);
void stage_stranger_make(const char *path, bool sequential);
void stage_stranger_leave(void);

typedef enum stage_operation_kind {
    STAGE_OPERATION_CHECK,
    STAGE_OPERATION_CREATE,
    STAGE_OPERATION_DELETE
} stage_operation_kind;

enum { STAGE_OPERATIONS_MAX = 8, STAGE_ANY_VERSION = -1, STAGE_MADE_SIZE = 256 };

typedef struct stage_operation {
    stage_operation_kind kind;
    const char *path;
    int32_t version; /* check, delete */
    bool ephemeral;  /* create */
    bool sequential; /* create */
} stage_operation;

/** Of one operation. Errors are what servers say, named as ZooKeeper's Java names them;
 * literals. */
typedef struct stage_result {
    const char *error;
    char made[STAGE_MADE_SIZE]; /* create: the full path; "": none was told */
} stage_result;

/** The stranger asks for all of it or nothing, in one multi. Gives the error of the whole. */
const char *stage_stranger_transact(const stage_operation *operations, int count,
                                    stage_result *results);

/** A node, and the creates of children that it is to have seen, below 2^32. */
typedef struct stage_age {
    const char *path;
    int64_t creates;
} stage_age;
/** Before anybody speaks. False: these servers cannot be made to believe it. */
bool stage_set_creates(const stage_age *ages, int count);

/* ---- The way between a speaker and the servers --------------------------------------- */

typedef enum stage_request {
    STAGE_CREATE,
    STAGE_DELETE,
    STAGE_LIST,
    STAGE_EXISTS,
    STAGE_REMOVE_WATCHES,
    STAGE_TRANSACT,
    STAGE_GET,
    STAGE_SET
} stage_request;

typedef enum stage_loss {
    STAGE_REQUEST_LOST, /* it is not applied */
    STAGE_REPLY_LOST    /* it is */
} stage_loss;

typedef struct stage_way stage_way;

stage_way *stage_way_open(void);
void stage_way_close(stage_way *way);
const char *stage_way_addresses(const stage_way *way);
/** The next request of the session, which is of that kind, costs it the connection. With
 * `then_away` it gets no other before stage_way_admit. */
void stage_way_cut_next(stage_way *way, int64_t session_id, stage_request kind, stage_loss loss,
                        bool then_away);
void stage_way_admit(stage_way *way);
/** The watches that are set again on the next connection are turned away, as by a busy server. */
void stage_way_turn_watches_away(stage_way *way);
/** There is that connection: waits until they have been, and nothing is turned away any more. */
void stage_way_end_of_turning_away(stage_way *way);
/** The servers end the session; its nodes are gone when this returns. */
void stage_way_expire(stage_way *way, int64_t session_id);
/** Somebody else connects to another server as that session. */
void stage_way_move(stage_way *way, int64_t session_id);

/** How many watches the servers keep for the session. */
int stage_watches(int64_t session_id);
