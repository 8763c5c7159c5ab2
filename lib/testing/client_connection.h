/*
 * The inside of the simulated connection:
 *
 *     connection_simulated.c   what connection/connection.h asks for: the requests
 *     client_io.c              libzookeeper's first thread: the connection, pings
 *     client_deliveries.c      its second: what the library is given, in order
 *     client_watches.c         what is watched
 */
#pragma once

#include "connection/connection.h"
#include "testing/client_watches.h"
#include "testing/machine.h"
#include "testing/wire.h"

#define ZKL_CLIENT_US_PER_MS INT64_C(1000)

typedef enum zkl_client_state {
    ZKL_CLIENT_CLOSED,
    ZKL_CLIENT_WAITING,    /* until it tries the next server */
    ZKL_CLIENT_CONNECTING, /* has asked a server for a session */
    ZKL_CLIENT_CONNECTED,
    ZKL_CLIENT_EXPIRED
} zkl_client_state;

/* A request of the library's, until it is answered. */
typedef struct zkl_client_request {
    zkl_call_kind kind;
    int32_t xid;
    zkl_call *unsent; /* NULL: it was sent */
    bool answered;    /* the answer is on its way to `done` */
    bool forgotten;   /* with the handle that it was sent by: it counts as lost */
    uint64_t watch_id;
    zkl_watch_kind watch_kind; /* that it removes */
    bool parent;               /* its node may exist already */
    zkl_reply_callback *done;
    void *arg;
    struct zkl_client_request *prev, *next;
} zkl_client_request;

/* Something on its way from the socket to the library's callback. */
typedef struct zkl_client_delivery {
    zkl_message message; /* first */
    zkl_delivery_kind kind;
    uint32_t handle; /* of which it is: an old one tells nothing any more, but answers */
    zkl_session_news news;
    zkl_client_request *request;
    zkl_outcome lost; /* of a request without an answer */
    zkl_answer *answer;
    zkl_watch_ids watch_ids;
} zkl_client_delivery;

/* A credential that the client has been given, for the next connections. */
typedef struct zkl_client_credential {
    char *scheme;
    char *secret;
    size_t size; /* of that */
    struct zkl_client_credential *prev, *next;
} zkl_client_credential;

struct zkl_connection {
    zkl_operations operations; /* first: the table's functions get a pointer to it */
    pthread_mutex_t *mutex;
    zkl_listener listener;
    zkl_process *process;
    zkl_client_state state;
    bool abandoned;
    bool closing;
    bool lacks_handle; /* it has left the last connection, and could open no other */
    uint32_t handle;   /* how many it has left */
    bool heard_at_close;
    zkl_wire *wire;
    int64_t session_id;
    int64_t last_zxid;
    int32_t timeout_ms;
    zkl_client_credential *credentials;
    size_t accepted;                  /* of the credentials; all, but perhaps the last */
    size_t unanswered;                /* of those that were sent on this connection */
    char refused[ZKL_SCHEME_MAX + 1]; /* the scheme of the last of them, even when it is closed */
    bool introduced;                  /* the session's first connection has been given all */
    zkl_address servers[ZKL_SERVERS_MAX]; /* in the order in which they are tried */
    zkl_address current;                  /* the last one that was */
    uint32_t server_count;
    uint32_t next_server;
    bool out_of_step; /* requests of a connection that was replaced wait for answers still */
    int32_t last_xid;
    zkl_client_request *pending;
    zkl_client_watches watches;
    int64_t last_received_us;
    int64_t last_sent_us;
    int64_t retry_us;
    int64_t cut_off_until_us;
    zkl_cut cut;
    zkl_world_event timer;
    zkl_channel deliveries;
    zkl_session_news latest_news;
};

/* ---- client_deliveries.c ---- */

void zkl_client_begin_deliveries(zkl_connection *self);
zkl_client_delivery *zkl_client_make_delivery(zkl_delivery_kind kind);
/* To the library, at once or later; never before what was passed on earlier. Takes it. */
void zkl_client_pass_on(zkl_connection *self, zkl_client_delivery *item);
void zkl_client_pass_news_on(zkl_connection *self, const zkl_session_news *news);
/* That there is no connection, if there is none. */
void zkl_client_tell_if_closed(zkl_connection *self);
/* Requests that have no answer. */
size_t zkl_client_count_open(const zkl_connection *self);
/* So many of these get none any more: the first ones. */
void zkl_client_lose_requests(zkl_connection *self, size_t count, zkl_outcome outcome);
/* Nothing else is delivered any more; requests that are open end with their session. */
void zkl_client_answer_all(zkl_connection *self);

/* ---- client_io.c ---- */

/* Begins to look for a server. */
void zkl_client_start(zkl_connection *self, const char *addresses, int32_t timeout_ms);
/* As zoo_set_servers does: a connection to a server that is not among them, made or tried, is
 * closed, and nobody is told. Whether it was. */
bool zkl_client_set_servers(zkl_connection *self, const char *addresses);
/* Closes that connection, as zoo_set_servers does. */
void zkl_client_hang_up(zkl_connection *self);
/* It is connected to the current server, or waits for it. */
bool zkl_client_has_socket(const zkl_connection *self);
/* Leaves the connection, for another one of the same session, and forgets what it was given, what
 * it watched, and what it knew of the servers. False: it is at an end. */
bool zkl_client_leave(zkl_connection *self, const char *addresses);
/* After that, without the mutex: requests under way are lost. */
void zkl_client_connect_again(zkl_connection *self);
void zkl_client_send(zkl_connection *self, zkl_call *call);
/* Gives the servers the next credential; without one requests begin. */
void zkl_client_introduce(zkl_connection *self);
/* Cuts the connection that there is, and each one that it tries to make before that moment. */
void zkl_client_cut_off(zkl_connection *self, zkl_cut cut, int64_t until_us);
/* Ends the session, if it is connected, and the connection; with replies unread the end of the
 * session may be lost. */
void zkl_client_stop(zkl_connection *self, bool unread);
