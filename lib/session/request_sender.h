/* What a request asks of the servers, as operations: all but its lists and watches. And what it
 * reports to its owner. */
#pragma once

#include "base/pool.h"
#include "session/session.h"

/** What the owner of a request hears. */
typedef enum zkl_request_news {
    ZKL_REQUEST_DECIDED,      /* exactly once, with the verdict: ZKL_OK is a grant */
    ZKL_REQUEST_LOST,         /* a granted lock is lost; the status tells why */
    ZKL_REQUEST_DISCONNECTED, /* its session is disconnected while the lock is held */
    ZKL_REQUEST_CONNECTED,    /* its session is connected again */
    ZKL_REQUEST_DOWNGRADED,   /* a downgrade has ended, with this status */
    ZKL_REQUEST_REVOKED,      /* the lock is asked for: once for each node */
    /* A request waits behind what is held: once for each grant, where tells_contended asks for it.
     * It may be known at the grant, but never before it. */
    ZKL_REQUEST_CONTENDED,
    /* Of a node that is lent: nobody waits behind it, and a watch is set for somebody who comes;
     * that watch has fired. */
    ZKL_REQUEST_ALONE,
    ZKL_REQUEST_NEWCOMER,
    ZKL_REQUEST_COUNTED, /* of a node that is lent: the gauges are being collected, and who holds it
                            or waits for it is to be counted in them */
    ZKL_REQUEST_ENDED    /* the node is gone, as far as anybody knows: the last news */
} zkl_request_news;

/** The callback may not call into the request's runner, but for zkl_request_runner_disown and
 *  zkl_request_runner_hold_from_now. The status is ZKL_OK where the news has none. */
typedef struct zkl_request_owner {
    void *arg;
    void (*on_news)(void *arg, zkl_request_news news, int status);
} zkl_request_owner;

/** What is the same for all requests of a handle. The handle and each request keep it, until they
 *  drop it. With the client's mutex held. */
typedef struct zkl_request_origin {
    zkl_pool texts; /* the copies of the options' texts */
    const zkl_lock_options *options;
    zkl_class_metrics *metrics; /* where they are counted; outlives the session. NULL: nowhere */
    uint64_t handle;            /* the handle's number */
    unsigned keepers;
    unsigned leaving; /* requests that are to be gone, and are not yet gone */
    int process;
    char paths[]; /* the paths of its resources */
} zkl_request_origin;

/** Makes one that the caller keeps, with room for the paths. NULL: out of memory. */
zkl_request_origin *zkl_request_origin_make(size_t room);
/** Drops it for one of its keepers. NULL does nothing. */
void zkl_request_origin_drop(zkl_request_origin *origin);

/** What a request is for. */
typedef struct zkl_run_options {
    zkl_request_origin *origin;
    /* the group of the set whose member it is; NULL: it is of no set */
    struct zkl_create_group *group;
    const char *resource;    /* as the user named it, for the log */
    const char *parent_path; /* its full path */
    int64_t began_ms;        /* when its call began; its waiting time counts from then */
    uint64_t thread;         /* the thread that acquires; 0: none does */
    zkl_request_owner owner;
} zkl_run_options;

/** What a request's parts report to that which runs it, and ask of it. `arg`: the sender. */
typedef struct zkl_request_listener {
    zkl_reply_callback *replied; /* takes the reply to what it sends */
    /* Returns the GUID of the node by which the holder itself tries to upgrade; "": there is
     * none. */
    const char *(*find_upgrade)(const void *arg);
} zkl_request_listener;

/** A request as its parts know it: the first field of what runs it. The caller fills the fields up
 *  to `listener`, and keeps those for people up to date. */
typedef struct zkl_request_sender {
    zkl_session *session;
    zkl_run_options options;
    const zkl_request *request;
    const zkl_request_listener *listener;
    unsigned char number;       /* in its group */
    bool asks;                  /* it asks its group for its node */
    zkl_event_kind refused : 8; /* the answer by which the servers refused it last; START: none */
    int32_t parent_version;     /* of the data of the parent, as it was inspected */
    /* For people: */
    int parent_made_length; /* of the part of parent_path that was to be made last */
    int position;           /* requests before ours in the last list; -1: none has shown ours */
    int64_t granted_ms;     /* when the lock was granted; -1: it was not */
    int64_t listed_ms;      /* since when lists have shown ours */
} zkl_request_sender;

/** Reports news to the owner, if there still is one. */
void zkl_request_tell_owner(const zkl_request_sender *self, zkl_request_news news, int status);

/** Writes the path of a node of the resource. */
void zkl_request_node_path(const zkl_request_sender *self, const char *node,
                           char path[ZKL_NODE_PATH_SIZE]);

/** Writes what a node says of its maker, and when it was made. */
#define ZKL_REQUEST_DATA_SIZE 1536
void zkl_request_write_data(const zkl_request_sender *self, char data[ZKL_REQUEST_DATA_SIZE]);

/** Sends an operation. OK: `replied` will be called; the reply has the action as its tag. */
zkl_outcome zkl_request_send(zkl_request_sender *self, const zkl_action *action);

/** Returns what that reply is to the request: the event, filled but for its kind. */
zkl_event zkl_request_read_reply(zkl_request_sender *self, const zkl_reply *reply);
