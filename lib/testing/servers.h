/*
 * The inside of the simulated ensemble, for its own files:
 *
 *     ensemble.c         what the outside tells it and asks it
 *     leader.c           numbers and commits writes, tracks sessions, is elected
 *     rights.c           who may do what to which node
 *     server.c           carries transactions out, answers the sessions' requests
 *     server_watches.c   the watches that a server keeps
 *     messages.c         what clients and servers say to each other
 *     wire.c             a connection between a client and a server
 *     channel.c          messages on their way
 *     tree.c             what is committed
 */
#pragma once

#include "testing/channel.h"
#include "testing/hash.h"
#include "testing/messages.h"

#define ZKL_US_PER_MS INT64_C(1000)

typedef struct zkl_server zkl_server;
typedef struct zkl_watched_path zkl_watched_path;

/* A session, known from the moment when it is asked for until the ensemble's end. */
typedef struct zkl_server_session {
    zkl_ensemble *ensemble;
    int64_t id;
    int32_t timeout_ms;
    bool foreign;
    /* The leader's view. */
    bool tracked;   /* it has been asked for, and its end has not */
    bool over;      /* by a committed transaction */
    uint32_t owner; /* the link by which its requests come; 0: any */
    int64_t expires_us;
    zkl_world_event expiry;
    /* The servers'. */
    zkl_attachment *attachments[ZKL_SERVERS_MAX];
    uint64_t requests[ZKL_CALL_KINDS];
    bool cut_is_next;   /* zkl_ensemble_cut_next */
    bool cut_contender; /* zkl_ensemble_cut_next_contender */
    zkl_call_kind cut_kind;
    zkl_cut cut;
    int64_t cut_late_us;
    struct zkl_server_session *next_made; /* in the order of their making */
    UT_hash_handle hh;
} zkl_server_session;

/* A session at a server: its requests there, in order, by whatever connection they came. */
struct zkl_attachment {
    zkl_server *server;
    zkl_server_session *session;
    zkl_wire *wire; /* NULL: none now */
    zkl_call *calls;
    bool touched; /* since the leader asked last */
    zkl_attachment *prev, *next;
};

/* What a transaction is to the servers that carry it out. */
typedef struct zkl_log_entry {
    zkl_tree_transaction *transaction;
    zkl_call *call; /* whose it is; NULL: nobody waits for it */
    struct zkl_log_entry *next;
} zkl_log_entry;

typedef enum zkl_packet_kind {
    ZKL_PACKET_WRITE,       /* to the leader: call */
    ZKL_PACKET_REVALIDATE,  /* to the leader: call */
    ZKL_PACKET_TOUCHES,     /* to the leader: sessions */
    ZKL_PACKET_COMMIT,      /* from the leader: entry */
    ZKL_PACKET_REVALIDATED, /* from the leader: call, valid */
    ZKL_PACKET_PING         /* from the leader */
} zkl_packet_kind;

typedef struct zkl_packet {
    zkl_message message; /* first */
    zkl_packet_kind kind;
    zkl_call *call;
    zkl_log_entry *entry;
    bool valid;
    uint32_t link_number; /* of its sender, to the leader */
    size_t session_count;
    zkl_server_session *sessions[];
} zkl_packet;

typedef enum zkl_server_state {
    ZKL_SERVER_STOPPED,
    ZKL_SERVER_LOOKING, /* for a leader; it takes no connection */
    ZKL_SERVER_SERVING
} zkl_server_state;

struct zkl_server {
    zkl_ensemble *ensemble;
    uint32_t number;
    zkl_server_state state;
    bool cut_off;
    bool linked;          /* to the leader that is in office, or was when it was cut off */
    uint32_t link_number; /* another each time that it joins a leader */
    zkl_channel to_leader;
    zkl_channel from_leader;
    zkl_channel applying;
    zkl_channel held_back; /* what it has not looked at, as it stood still */
    int64_t applied_zxid;
    zkl_attachment *attachments;
    zkl_watched_path *watched;
    zkl_world_event joining;
    zkl_world_event noticing; /* that it is cut off */
    int64_t slow_until_us;
    int64_t slow_by_us;
    int64_t refuse_until_us;
    int64_t mute_until_us;
    int64_t throttle_until_us;
};

/* What is withheld of the rights to the node of this path. */
typedef struct zkl_withheld {
    unsigned withheld;
    int64_t until_us; /* INT64_MAX: for good */
    struct zkl_withheld *next;
    char path[];
} zkl_withheld;

struct zkl_ensemble {
    zkl_ensemble_options options;
    zkl_tree *tree;
    zkl_server servers[ZKL_SERVERS_MAX];
    /* Sessions. */
    zkl_server_session *sessions_by_id;
    zkl_server_session *first_session, *last_session;
    uint32_t sessions_made;
    zkl_wire *wires;
    zkl_withheld *withheld;
    bool refuses_digests;
    /* The leader. */
    uint32_t leader;
    bool in_office;
    int64_t zxid;
    int64_t committed_us;     /* when that was */
    int64_t carried_out_zxid; /* as far as it has been drawn for the leader */
    int64_t term_begun_us;    /* with which its ticks begin */
    zkl_channel pipeline;     /* what is numbered, but not committed; the next leader inherits it */
    uint32_t last_link_number;
    int64_t containers_seen_us; /* when it looked for empty containers */
    zkl_world_event pinging;
    zkl_world_event election;
    zkl_world_event losing_quorum;
    int64_t slow_until_us;
    int64_t slow_by_us;
    /* The log: what not all servers have carried out. */
    zkl_log_entry *log_first, *log_last;
};

/* ---- ensemble.c ---- */

zkl_server_session *zkl_ensemble_find_session(const zkl_ensemble *ensemble, int64_t session_id);
/* Another one, for a client that asks a server for it. */
zkl_server_session *zkl_ensemble_add_session(zkl_ensemble *ensemble, uint32_t server,
                                             int32_t timeout_ms);
int64_t zkl_ensemble_draw(const zkl_range *range);
int64_t zkl_ensemble_tick_us(const zkl_ensemble *ensemble);

/* ---- leader.c ---- */

void zkl_leader_begin(zkl_ensemble *ensemble);
void zkl_leader_end(zkl_ensemble *ensemble);
void zkl_leader_prepare_session(zkl_server_session *session);
/* To be free to join a leader again, after a while. */
void zkl_leader_let_join(zkl_server *server);
/* A packet has arrived, and is freed. */
void zkl_leader_receive(zkl_ensemble *ensemble, zkl_packet *packet);
/* Commits a write at once, for which nobody waits. NULL: there is no leader now. */
const zkl_tree_transaction *zkl_leader_commit_now(zkl_ensemble *ensemble, zkl_call *call);
/* Begins to. False: it leads no more, or the end has been asked for. */
bool zkl_leader_expire(zkl_server_session *session);
void zkl_leader_touch(zkl_server_session *session);
/* Of a request that has come by that link: whether the session is over, or at another server. */
zkl_server_error zkl_leader_check_session(zkl_server_session *session, uint32_t link_number);
void zkl_leader_step_down(zkl_ensemble *ensemble);
/* After a server has come or gone. */
void zkl_leader_review_quorum(zkl_ensemble *ensemble);
/* The server has carried out more of the log. */
void zkl_leader_trim_log(zkl_ensemble *ensemble);

/* ---- rights.c ---- */

/* As an ACL grants them: the bits of ZooKeeper (ZooDefs.Perms). */
enum {
    ZKL_PERMISSION_READ = 1 << 0,
    ZKL_PERMISSION_WRITE = 1 << 1,
    ZKL_PERMISSION_CREATE = 1 << 2,
    ZKL_PERMISSION_DELETE = 1 << 3,
    ZKL_PERMISSION_ADMIN = 1 << 4
};

/* But for what is withheld for good. */
void zkl_rights_grant_again(zkl_ensemble *ensemble);
void zkl_rights_end(zkl_ensemble *ensemble);
/* A connection tells who its client is. */
zkl_server_error zkl_rights_add_identity(zkl_wire *wire, const char *scheme, const char *secret,
                                         size_t size);
/* NULL, a node that is not there: yes. */
bool zkl_rights_grant(const zkl_ensemble *ensemble, const zkl_node *node, int permission,
                      const char *identities);
/* What the operation is refused with, in the state of that zxid. */
zkl_server_error zkl_rights_check(const zkl_ensemble *ensemble, const zkl_write *operation,
                                  const char *identities, int64_t zxid);

/* ---- server.c ---- */

void zkl_server_begin(zkl_server *server, zkl_ensemble *ensemble, uint32_t number);
void zkl_server_end(zkl_server *server);
bool zkl_server_leads(const zkl_server *server);
/* What has arrived from a client. */
void zkl_server_receive(zkl_server *server, zkl_wire *wire, zkl_call *call);
/* Its client is gone, or another connection has taken its place. */
void zkl_server_forget_wire(zkl_wire *wire);
/* Breaks all connections and forgets all requests. */
void zkl_server_stop_serving(zkl_server *server, zkl_server_state state);
/* With all that is committed. */
void zkl_server_start_serving(zkl_server *server);
/* From the leader. */
void zkl_server_send(zkl_server *server, zkl_packet *packet);
zkl_packet *zkl_packet_make(zkl_packet_kind kind, zkl_call *call, zkl_log_entry *entry);
void zkl_packet_free(zkl_packet *packet);
void zkl_packets_free(zkl_message *list);

/* Takes a request of a connection that has broken, behind another connection of its session that
 * has broken too. */
void zkl_server_take_late(zkl_server *server, zkl_server_session *session, zkl_call *call);

/* ---- server_cuts.c ---- */

/* Whether the connection breaks with this request, and how. */
bool zkl_server_draw_cut(zkl_server_session *session, zkl_call *call, zkl_cut *cut);
/* Keeps the request from the leader for its `late_us`. Its connection has broken. */
void zkl_server_hold_back(zkl_server *server, zkl_call *call);
/* Passes it on then, unless the client is back at this server. */
void zkl_server_go_on(void *arg, zkl_message *message);
/* Whether it breaks with the answer. */
bool zkl_server_cuts_answer(zkl_server_session *session, const zkl_call *call);

/* ---- server_watches.c ---- */

void zkl_server_watch(zkl_server *server, zkl_wire *wire, const char *path, zkl_watch_kind kind);
/* False: there was none. */
bool zkl_server_unwatch(zkl_server *server, zkl_wire *wire, const char *path, zkl_watch_kind kind);
void zkl_server_unwatch_all(zkl_wire *wire);
/* A node was made, changed or deleted, or a child of it. */
void zkl_server_fire_watches(zkl_server *server, const zkl_node *node, zkl_watch_event event);
