/*
 * libzookeeper itself, to look at what zklock has made and to be an
 * application's own connection. Each call tries again over a lost connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

/** Connected when it returns. */
zhandle_t *raw_open(const char *hosts);
void raw_close(zhandle_t *raw);
/** On closed servers (closed.h): shows the credential, on a handle that raw_open has not opened. */
void raw_introduce(zhandle_t *raw);
/** ACL of nodes made by hand: everybody on open servers, ourselves on closed ones. */
const struct ACL_vector *raw_acl(void);
/** Whether only clients of one digest may do anything with the node; also true of none. */
bool raw_is_closed(zhandle_t *raw, const char *path);
/** Ends another client's session in its name, as if the servers had expired it:
 *  its nodes are gone when this returns. */
void raw_expire(const char *hosts, const clientid_t *session);
/** Connects in another client's name, and goes without a word: its session is there now. */
void raw_move(const char *hosts, const clientid_t *session);

/** After it, reads of this handle see all that was committed before it was
 *  called, on any server. It is a committed write: a delete of no node. */
void raw_catch_up(zhandle_t *raw);
/** ZooKeeper's own sync. It promises the same, but on the leader it passes
 *  commits that the leader has still to apply to its own tree. */
void raw_sync(zhandle_t *raw);
/** A node that is there already is fine. */
void raw_make(zhandle_t *raw, const char *path);
/** One with data. */
void raw_make_with(zhandle_t *raw, const char *path, const char *data);
/** Returns what the servers say: ZOK, or why not. */
int raw_create(zhandle_t *raw, const char *path, int flags);
/** Ephemeral children of ours, with a sequence after the name. */
void raw_make_many(zhandle_t *raw, const char *path_and_name, int count);
void raw_delete(zhandle_t *raw, const char *path);
void raw_write(zhandle_t *raw, const char *path, int64_t value);
int64_t raw_read(zhandle_t *raw, const char *path);
bool raw_stat(zhandle_t *raw, const char *path, struct Stat *stat);
/** The node's data as a string. */
void raw_data(zhandle_t *raw, const char *path, char *text, size_t size);
/** 0 where there is no such node. */
int raw_children(zhandle_t *raw, const char *path);

/** Deletes the child that came last; there must be one. */
void raw_delete_last_child(zhandle_t *raw, const char *path);

/** An ephemeral node of this handle's own, and with `sequential` the servers
 *  append a number; writes the path that they gave it. */
void raw_make_ephemeral(zhandle_t *raw, const char *path, bool sequential, char *made, size_t size);

/** All of it or nothing; returns what the servers say: ZOK, or why not. Not to be asked over a
 *  connection that may be lost: it is not tried again. */
int raw_multi(zhandle_t *raw, int count, const zoo_op_t *operations, zoo_op_result_t *results);

/** Tells the name of each child. */
typedef void child_visitor(void *arg, const char *name);
void raw_visit_children(zhandle_t *raw, const char *path, child_visitor *visit, void *arg);
