/*
 * Someone who talks to the servers through a connection of the library's, and what he
 * hears. What he asks is written down at once, what he hears when the conversation
 * waits for it: two speakers' answers never mix by chance.
 */
#pragma once

#include "stage.h"

#include <stdint.h>

#include "connection/operations.h"

typedef struct speaker speaker;

/** Ordinary sessions outlive all that is done to their connections here. */
enum { SESSION_MS = 10000 };

/** Begins to connect. `name` is a literal. */
speaker *speaker_open(const char *name, int32_t timeout_ms);
/** The same, and waits until he is connected. */
speaker *speaker_enter(const char *name);
/** Begins to connect, and shows a credential: hear until he is "connected" or refused. */
speaker *speaker_enter_as(const char *name, const char *scheme, const char *secret, size_t size);
/** For all that he creates; NULL: open to all. */
void use_acl(speaker *self, const char *acl);
/** Closes the connection; all that he still hears is written down. */
void speaker_leave(speaker *self);
/** Closes the connection, and begins to connect again. */
void speaker_reopen(speaker *self);
/** Wants to hear nothing more of the session. */
void speaker_abandon(speaker *self);

void ask_parent(speaker *self, const char *path);
void ask_container(speaker *self, const char *path);
void ask_create(speaker *self, const char *path);
/** Where the numbers of a parent have ended, and waits. While the leader still has an earlier
 * create in hand, which is chance, the child gets the next number in 32 bits, which is
 * `counting_on`: it is deleted then, and asked for again. Written down is the one that is behind
 * none. */
enum { BEHIND_THE_LAST = INT32_MIN };
void create_past_the_end(speaker *self, const char *path, int64_t counting_on);
void ask_list(speaker *self, const char *path);
/** The same, with a watch on the children. */
void ask_children(speaker *self, const char *path, uint64_t watch);
/** watch: 0, none. */
void ask_exists(speaker *self, const char *path, uint64_t watch);
void ask_delete(speaker *self, const char *path);
/** All or nothing, through the connection's own transactions; up to SPEAKER_OPERATIONS_MAX. */
enum { SPEAKER_OPERATIONS_MAX = 8 };
void ask_transact(speaker *self, const zkl_multi_operation *operations, size_t count);
/** Those on the node itself. */
void ask_unwatch(speaker *self, const char *path);
void ask_unwatch_children(speaker *self, const char *path);
void ask_get(speaker *self, const char *path);
/** To "other", of whatever version the data are. */
void ask_set(speaker *self, const char *path);
/** To "first", of version 0 only. */
void ask_set_first(speaker *self, const char *path);
void ask_get_acl(speaker *self, const char *path);
/** To that of use_acl. */
void ask_set_acl(speaker *self, const char *path);

/** Waits until all that he has asked is answered. */
void hear(speaker *self);
/** Waits for that, and until a line that begins so has been heard. */
void hear_until(speaker *self, const char *beginning);
/** How many watches the servers keep for him now. */
void count_watches(const speaker *self);
/** From now on he may hear this line, or not: it is left out. */
void may_hear(speaker *self, const char *line);
/** A write that changes nothing, and its answer: before it he hears of all that
 *  was committed before. */
void catch_up(speaker *self);

/** His next request, of that kind, costs him the connection. */
void cut_next(speaker *self, stage_request kind, stage_loss loss);
/** The same, and he gets no other until `admit`. */
void cut_next_and_stay_away(speaker *self, stage_request kind, stage_loss loss);
void admit(speaker *self);
/** The same, and a busy server does not set his watches again; until he has heard that he is
 *  connected. */
void admit_without_watches(speaker *self);
/** His client forgets its watches on the children; servers are not asked. */
void forget_children(speaker *self, const char *path);
/** The servers end his session. */
void expire(speaker *self);
/** Somebody else takes it to another server. */
void move_session(speaker *self);

/* ---- What others do, written down ------------------------------------------------- */

void make_by_hand(const char *path);
void delete_by_hand(const char *path);
void enter_stranger(void);
void make_as_stranger(const char *path, bool sequential);
/** In one multi; up to STAGE_OPERATIONS_MAX. */
void transact_as_stranger(const stage_operation *operations, int count);
void leave_stranger(void);
