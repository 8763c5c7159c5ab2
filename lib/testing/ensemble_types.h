/* What the simulated ensemble is told and tells: types only, for its outside and its inside. */
#pragma once

#include "testing/tree.h"

typedef struct zkl_ensemble zkl_ensemble;

enum { ZKL_SERVERS_MAX = 9 };

/** What a client asks for. */
typedef enum zkl_call_kind {
    ZKL_CALL_CREATE,
    ZKL_CALL_DELETE,
    ZKL_CALL_MULTI,
    ZKL_CALL_SET,
    ZKL_CALL_SET_ACL,
    ZKL_CALL_LIST,
    ZKL_CALL_EXISTS,
    ZKL_CALL_GET,
    ZKL_CALL_GET_ACL,
    ZKL_CALL_REMOVE_WATCHES,
    ZKL_CALL_SET_WATCHES,
    ZKL_CALL_AUTH,
    ZKL_CALL_PING,
    ZKL_CALL_CONNECT,
    ZKL_CALL_CLOSE,
    ZKL_CALL_KINDS
} zkl_call_kind;

/** Both included. */
typedef struct zkl_range {
    int64_t low;
    int64_t high;
} zkl_range;

/** How often, in a million, something goes wrong with a message. All 0: nothing ever. */
typedef struct zkl_ensemble_rates {
    uint32_t request_lost;    /* the connection breaks before the request arrives */
    uint32_t reply_lost;      /* the connection breaks once it has arrived */
    uint32_t request_late;    /* the same, and what it asks for is carried out late */
    uint32_t connection_mute; /* per connect: it is made, and only pings are answered on it */
    uint32_t connect_refused; /* per connect */
    uint32_t slow_message;    /* between client and server: of `slow_message_us` */
    uint32_t slow_commit;     /* of `slow_commit_us` */
    uint32_t slow_apply;      /* of `slow_apply_us` */
    uint32_t slow_delivery;   /* of `slow_delivery_us` */
    uint32_t news_repeated;   /* per news of the session: it comes twice */
    uint32_t throttled;       /* per request: "not now" */
    uint32_t not_sent;        /* per request: the client itself cannot, as when it has no memory */
    /* per close of a client that still awaits replies: the connection is reset before the server
     * has read all, of which the end of the session is the last */
    uint32_t close_reset;
} zkl_ensemble_rates;

typedef enum zkl_delivery_kind {
    ZKL_DELIVERY_REPLY,
    ZKL_DELIVERY_WATCH,
    ZKL_DELIVERY_CONNECTING,
    ZKL_DELIVERY_CONNECTED,
    ZKL_DELIVERY_EXPIRED,
    ZKL_DELIVERY_AUTH_FAILED,
    ZKL_DELIVERY_AWAITS_CREDENTIAL /* the application is not told */
} zkl_delivery_kind;

/** What a client is given, just before it is. */
typedef struct zkl_delivery {
    zkl_delivery_kind kind;
    uint32_t process;   /* zkl_process_number */
    int64_t session_id; /* 0: none yet */
    zkl_call_kind call; /* of a reply */
    bool lost;          /* the reply never came: the connection broke, or the session is over */
    zkl_server_error error;
    const char *path; /* create: as it was made; NULL: none */
    bool deleted;     /* of a watch */
    uint32_t server;
    int64_t applied_zxid; /* what that server had carried out when it answered; 0: nobody did */
} zkl_delivery;

/** For an oracle of a run. They may read the tree, and must change nothing. Each may be NULL. */
typedef struct zkl_ensemble_hooks {
    void *arg;
    /* In the order of the zxids, just after the tree has changed. */
    void (*committed)(void *arg, const zkl_tree_transaction *transaction);
    void (*delivered)(void *arg, const zkl_delivery *delivery);
} zkl_ensemble_hooks;

typedef struct zkl_ensemble_options {
    uint32_t servers;
    int32_t tick_ms;
    int32_t container_ms;      /* how often the leader looks for empty containers */
    int32_t sync_limit_ticks;  /* until a server that is cut off notices */
    zkl_range message_us;      /* between client and server, each way */
    zkl_range link_us;         /* between leader and server, each way */
    zkl_range commit_us;       /* from the leader's numbering of a write to its commit */
    zkl_range apply_us;        /* from hearing of a commit to carrying it out */
    zkl_range delivery_us;     /* within the client: from its socket to its callback */
    zkl_range election_us;     /* without a leader */
    zkl_range join_us;         /* of a server, to the leader */
    zkl_range slow_message_us; /* and now for the rates */
    zkl_range slow_commit_us;
    zkl_range slow_apply_us;
    zkl_range slow_delivery_us;
    bool checks_early; /* the server that is asked refuses single writes by itself, and out of turn:
                          enableEagerACLCheck */
    zkl_ensemble_rates rates;
    zkl_ensemble_hooks hooks;
} zkl_ensemble_options;

typedef enum zkl_cut {
    ZKL_CUT_REQUESTS_LOST, /* what is on its way to the server never arrives */
    ZKL_CUT_REPLIES_LOST,  /* what is on its way to the server arrives, and is carried out unless
                              the session is at another server before the leader has it */
    ZKL_CUT_HELD_BACK,     /* only for the next request: the server stands still. When it goes on it
                              first looks at a connection that the client has given up, so that the
                              session is its own again, and then at the request, which the leader
                              takes (seen on 3.9.3) */
    ZKL_CUT_WHEN_ANSWERED, /* only for the next request: it is carried out, its reply is lost */
    ZKL_CUT_SILENT         /* nothing passes from now on, and nobody is told */
} zkl_cut;

/** What an ACL grants. ADMIN is not among it, as nothing here asks for it. */
typedef enum zkl_right {
    ZKL_RIGHT_READ = 1 << 0, /* list, exists (of a node that is there), get, check */
    ZKL_RIGHT_WRITE = 1 << 1,
    ZKL_RIGHT_CREATE = 1 << 2, /* of children */
    ZKL_RIGHT_DELETE = 1 << 3  /* of children: looked at before the child is looked for */
} zkl_right;
