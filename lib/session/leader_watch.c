#include "session/leader_watch.h"

#include <stdio.h>
#include <string.h>

#include <utlist.h>

#include "recipe/node_data.h"
#include "recipe/node_name.h"

static void look_for_leader(void *arg);

/* ---- What was found ----------------------------------------------------------------- */

/* Looks again after a pause, which is random, so that observers do not ask all at once. */
static void look_later(zkl_leader_watch *watch) {
    zkl_session_set_timer(watch->session, &watch->pause,
                          zkl_session_shorten(watch->session, ZKL_LEADER_PAUSE_MS));
}

static void see_nobody(zkl_leader_watch *watch, int status) {
    watch->seen(watch->arg, &(zkl_leader){ .status = status, .node = "", .candidate = "" });
    look_later(watch);
}

/* Looks again once the write is committed. Each look forgets that of the one before. */
static void on_caught_up(void *arg, const zkl_reply *reply) {
    zkl_leader_watch *watch = arg;
    if (zkl_is_committed(reply)) {
        look_for_leader(watch);
        watch->caught_up = true;
    } else {
        look_later(watch);
    }
}

/* Looks again behind a committed write: what was seen before is then known to the server. */
static void catch_up(zkl_leader_watch *watch) {
    if (zkl_liveness_write_nothing(&watch->session->liveness, 0, on_caught_up, watch,
                                   &watch->asking) != ZKL_OUTCOME_OK) {
        look_later(watch);
    }
}

/* Reports the leader that was read. A lower term than before may be the news of a server that lags
 * behind the last session's. If it is not, the servers have lost the higher one, or somebody had
 * made its node by hand. */
static void conclude(zkl_leader_watch *watch, const zkl_reply *reply) {
    zkl_node_identity identity;
    char room[ZKL_NODE_DATA_ROOM_MAX];
    if (reply->zxid < watch->last_term && !watch->caught_up) {
        catch_up(watch);
        return;
    }
    zkl_node_identity_read(&identity, room, reply->data, reply->data_length);
    watch->last_term = reply->zxid;
    watch->seen(watch->arg, &(zkl_leader){ .term = reply->zxid,
                                           .session_id = reply->ephemeral_owner,
                                           .node = watch->path,
                                           .candidate = identity.note });
}

static void fail(zkl_leader_watch *watch, zkl_outcome outcome, int status) {
    if (outcome == ZKL_OUTCOME_NO_NODE) {
        look_for_leader(watch);
    } else if (outcome == ZKL_OUTCOME_REFUSED) {
        see_nobody(watch, status);
    } else {
        look_later(watch);
    }
}

/* ---- Looking ------------------------------------------------------------------------- */

static void on_read(void *arg, const zkl_reply *reply) {
    if (reply->outcome == ZKL_OUTCOME_OK) {
        conclude(arg, reply);
    } else {
        fail(arg, reply->outcome, reply->status);
    }
}

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    if (outcome != ZKL_OUTCOME_OK) {
        fail(arg, outcome, status);
    }
}

static void on_first_changed(void *arg, zkl_watch_event event) {
    (void)event;
    look_for_leader(arg);
}

/* Watches and reads the first node. The watch is asked for before the look, so that nothing happens
 * between the two unseen. */
static void follow(zkl_leader_watch *watch, const char *name) {
    int length = snprintf(watch->path, sizeof(watch->path), "%s/%s", watch->parent_path, name);
    if ((size_t)length >= sizeof(watch->path)) {
        look_later(watch);
        return;
    }
    zkl_watch_table_add(&watch->session->watches, watch->path, &watch->waiter);
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = watch->path };
    if (zkl_send(&watch->session->sender, &get, on_read, watch, &watch->asking) != ZKL_OUTCOME_OK) {
        look_later(watch);
    }
}

/* Tells whether the first node is that of a leader. A reader, or the holder of one of several
 * permits, shares the resource, and so leads nobody. The node of a reader that was a writer is a
 * new one: its term may be higher than those behind it. */
static bool may_lead(const char *first) {
    zkl_node_kind kind = zkl_node_name_parse(first).kind;
    return kind != ZKL_NODE_READ && kind != ZKL_NODE_PERMIT;
}

static void on_queue_listed(void *arg, const zkl_list_answer *answer) {
    zkl_leader_watch *watch = arg;
    if (answer->outcome != ZKL_OUTCOME_OK && answer->outcome != ZKL_OUTCOME_NO_NODE) {
        fail(watch, answer->outcome, answer->status);
        return;
    }
    const char *first = zkl_contenders_find_first(answer->children);
    if (first != NULL && may_lead(first)) {
        follow(watch, first);
    } else {
        see_nobody(watch, ZKL_OK);
    }
}

static void stop_looking(zkl_leader_watch *watch) {
    zkl_listings_withdraw(&watch->list);
    zkl_watch_table_remove(&watch->waiter);
    zkl_sent_forget(&watch->asking);
    zkl_timer_stop(&watch->pause);
    watch->caught_up = false;
}

/* Asks for the queue. Without a connection it waits for the next. */
static void look_for_leader(void *arg) {
    zkl_leader_watch *watch = arg;
    zkl_session *session = watch->session;
    stop_looking(watch);
    if (session->connected &&
        zkl_listings_ask(&session->listings, watch->parent_path, &watch->list) != ZKL_OUTCOME_OK) {
        look_later(watch);
    }
}

static const zkl_watch_listener watch_listener = { .armed = on_armed, .fired = on_first_changed };
static const zkl_list_listener list_listener = { .listed = on_queue_listed };

/* ---- Beginning and end ---------------------------------------------------------------- */

/* Looks again where there is no watch, as none outlives its session, and where a watch pauses, as
 * it has not found out who leads. */
void zkl_leader_watches_connected(zkl_session *session) {
    for (zkl_leader_watch *watch = session->leader_watches; watch != NULL; watch = watch->next) {
        if (watch->waiter.watch == NULL || watch->pause.timers != NULL) {
            look_for_leader(watch);
        }
    }
}

static void leave_session(zkl_session *session, zkl_leader_watch *watch) {
    DL_DELETE(session->leader_watches, watch);
    session->watched_bytes -= zkl_leader_watch_watched_bytes(watch->parent_path);
    stop_looking(watch);
    watch->session = NULL;
}

void zkl_leader_watches_finish(zkl_session *session, int status) {
    zkl_leader_watch *watch = NULL;
    while ((watch = session->leader_watches) != NULL) {
        leave_session(session, watch);
        watch->seen(watch->arg, &(zkl_leader){ .status = status, .node = "", .candidate = "" });
    }
}

/* Counts the first node, and one before it whose watch is being removed. */
size_t zkl_leader_watch_watched_bytes(const char *parent_path) {
    return 2 * zkl_watch_path_bytes(strlen(parent_path) + 1 + ZKL_NODE_NAME_SIZE);
}

void zkl_leader_watch_begin(zkl_leader_watch *watch, zkl_session *session, const char *parent_path,
                            zkl_leader_callback *seen, void *arg) {
    snprintf(watch->parent_path, sizeof(watch->parent_path), "%s", parent_path);
    watch->session = session;
    watch->seen = seen;
    watch->arg = arg;
    watch->waiter = (zkl_watch_waiter){ .arg = watch, .listener = &watch_listener };
    watch->list = (zkl_list_waiter){ .arg = watch, .listener = &list_listener };
    watch->pause = (zkl_timer){ .fire = look_for_leader, .arg = watch };
    DL_APPEND(session->leader_watches, watch);
    session->watched_bytes += zkl_leader_watch_watched_bytes(parent_path);
    zkl_liveness_wake(&session->liveness);
    look_for_leader(watch);
}

void zkl_leader_watch_end(zkl_leader_watch *watch) {
    if (watch->session != NULL) {
        leave_session(watch->session, watch);
    }
}
