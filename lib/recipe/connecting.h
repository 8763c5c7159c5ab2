/*
 * What is to be done next so that a session is connected: a pure state machine, as request.h is.
 *
 *     zkl_connecting_step(connecting, event, actions)
 *
 * One thread carries the actions out that take time, one after the other, and gives the result of
 * each as the next event: the actions of a result end with its next task. News come meanwhile, on
 * other threads. They change the state, and wake that thread where it only waits and something
 * else is to be done.
 *
 * Nothing else knows or writes what is said here of a connection.
 */
#pragma once

#include "recipe/fields.h"

#define ZKL_CONNECTING_NEWS_LIST(NEWS)                                                             \
    NEWS(CONNECTED)           /* to a server that has accepted the session. renewed */             \
    NEWS(CAUGHT_UP)           /* the server has committed the write of CATCH_UP */                 \
    NEWS(DISCONNECTED)        /* renewed */                                                        \
    NEWS(EXPIRED)             /* the session is over, as the servers say */                        \
    NEWS(AUTH_FAILED)         /* the servers do not take who we are */                             \
    NEWS(ABANDONED)           /* the session was given up by us */                                 \
    NEWS(DENIED)              /* the server says that the session is over, or at another server */ \
    NEWS(CREDENTIAL_AWAITED)  /* the servers are to be shown the next one */                       \
    NEWS(SERVERS_CHANGED)     /* the application names other servers */                            \
    NEWS(CREDENTIALS_CHANGED) /* the application gives other credentials */                        \
    NEWS(CLOSING)             /* the client closes */

/** Of the thread's task. */
#define ZKL_CONNECTING_RESULT_LIST(RESULT)                                                         \
    RESULT(DONE)   /* moved, lacks_handle; of a wait: its time is over */                          \
    RESULT(FAILED) /* lacks_handle */                                                              \
    RESULT(WOKEN)  /* a wait has ended before its time. Also the first event of all */

/** The thread's tasks. */
#define ZKL_CONNECTING_TASK_LIST(TASK)                                                             \
    TASK(NONE) /* it has not begun */                                                              \
    TASK(OPEN) /* closes what there is, looks all names up, and opens a new session there */       \
    /* goes on with the same session on another handle, which shows the credentials anew */        \
    TASK(RENEW)                                                                                    \
    /* tells whether the session would take the credentials that a new handle shows: FAILED: no */ \
    TASK(CHECK_NEW_CREDENTIALS)                                                                    \
    TASK(CHECK_CREDENTIALS)   /* the same, before a server or a handle is left */                  \
    TASK(LEAVE_SERVER)        /* connects again with the same handle */                            \
    TASK(INTRODUCE)           /* shows the servers the next credential */                          \
    TASK(LOOK_UP_NEW_SERVERS) /* DONE says whether the addresses have moved */                     \
    TASK(LOOK_UP)             /* the same names again. Likewise */                                 \
    TASK(LOOK_UP_IF_DUE)      /* likewise, but if that was done a moment ago nothing has moved */  \
    TASK(GIVE_SERVERS)        /* gives the connection all addresses */                             \
    /* leaves a server that does not answer for others. FAILED: no other is left to be tried */    \
    TASK(LEAVE_SILENT_SERVER)                                                                      \
    TASK(CLOSE)               /* closes what there is */                                           \
    TASK(WAIT_TO_TRY_AGAIN)   /* a pause after a failure */                                        \
    TASK(WAIT_FOR_SERVER)     /* as long as zkl_connecting_patience_ms says */                     \
    TASK(WAIT_FOR_CREDENTIAL) /* until the servers have answered to it */                          \
    TASK(WAIT_TO_LOOK_UP)     /* until names are to be looked up while connected */                \
    TASK(WAIT_TO_LEAVE)       /* until a server may be left, which was just done in vain */        \
    TASK(WAIT_FOR_CLOSING)                                                                         \
    TASK(END) /* the thread's last one */

/** What is done at once, where the event came from. */
#define ZKL_CONNECTING_ORDER_LIST(ORDER)                                                           \
    ORDER(PASS_ON)  /* tells the session of the news; after CAUGHT_UP of those of CONNECTED */     \
    ORDER(CATCH_UP) /* has the server commit a write, before anything else is asked of it */       \
    ORDER(REPORT_CREDENTIALS) /* warns that the session goes on with the old ones */               \
    ORDER(WAKE)               /* wakes the thread */

#define ZKL_CONNECTING_STAGE_LIST(STAGE)                                                           \
    STAGE(OVER)        /* there is no session: one is to be opened */                              \
    STAGE(SEEKING)     /* a server is sought for the session */                                    \
    STAGE(CATCHING_UP) /* there is a connection, to a server that may lag behind the last one */   \
    STAGE(CONNECTED)                                                                               \
    STAGE(DENIED)  /* there is a connection, and its server does not have the session */           \
    STAGE(REFUSED) /* no session will follow */                                                    \
    STAGE(CLOSED)

#define ZKL_CONNECTING_EVENT_(name) ZKL_CONNECTING_EVENT_##name,
#define ZKL_CONNECTING_ACTION_(name) ZKL_CONNECTING_ACTION_##name,
#define ZKL_CONNECTING_STAGE_(name) ZKL_CONNECTING_STAGE_##name,
typedef enum zkl_connecting_event_kind {
    ZKL_CONNECTING_NEWS_LIST(ZKL_CONNECTING_EVENT_)
        ZKL_CONNECTING_RESULT_LIST(ZKL_CONNECTING_EVENT_)
} zkl_connecting_event_kind;
typedef enum zkl_connecting_action_kind {
    ZKL_CONNECTING_TASK_LIST(ZKL_CONNECTING_ACTION_)
        ZKL_CONNECTING_ORDER_LIST(ZKL_CONNECTING_ACTION_)
} zkl_connecting_action_kind;
typedef enum zkl_connecting_stage {
    ZKL_CONNECTING_STAGE_LIST(ZKL_CONNECTING_STAGE_)
} zkl_connecting_stage;
typedef zkl_connecting_stage zkl_field_CONNECTING_STAGE;
typedef zkl_connecting_action_kind zkl_field_CONNECTING_TASK;

#define ZKL_CONNECTING_EVENT_FIELDS(FIELD, of)                                                     \
    FIELD(of, FLAG, renewed)      /* the handle is not the one that was connected before */        \
    FIELD(of, FLAG, moved)        /* names led to other addresses than the last time */            \
    FIELD(of, FLAG, overdue)      /* the session was lost for longer than its timeout */           \
    FIELD(of, FLAG, lacks_handle) /* the task has left the old handle, and could open no other */
typedef struct zkl_connecting_event {
    zkl_connecting_event_kind kind;
    ZKL_CONNECTING_EVENT_FIELDS(ZKL_FIELD, )
} zkl_connecting_event;

/** The most actions that one step can ask for: an order, and a task or WAKE. */
#define ZKL_CONNECTING_ACTIONS_MAX 2
typedef struct zkl_connecting_actions {
    size_t count;
    zkl_connecting_action_kind list[ZKL_CONNECTING_ACTIONS_MAX];
} zkl_connecting_actions;

#define ZKL_CONNECTING_FIELDS(FIELD, of)                                                           \
    FIELD(of, FLAG, asks_application) /* credentials come from a callback of the application */    \
    FIELD(of, CONNECTING_STAGE, stage)                                                             \
    FIELD(of, CONNECTING_TASK, under_way) /* the thread carries it out */                          \
    FIELD(of, FLAG, woken)                /* the wait that is under way is to end */               \
    FIELD(of, FLAG, pauses)               /* the last task has failed */                           \
    FIELD(of, FLAG, established)          /* the servers have accepted the session once */         \
    /* the handle was connected: servers that are behind what it saw there turn it away */         \
    FIELD(of, FLAG, was_connected)                                                                 \
    FIELD(of, FLAG, may_lag)      /* the next server, behind what the last handle has seen */      \
    FIELD(of, FLAG, lacks_handle) /* of the session there is no handle, and no news */             \
    FIELD(of, FLAG, has_new_servers)                                                               \
    FIELD(of, FLAG, has_new_credentials)                                                           \
    FIELD(of, FLAG, awaits_credential)                                                             \
    FIELD(of, FLAG, introduces) /* a credential is on its way to the servers */                    \
    FIELD(of, FLAG, moved)      /* the connection does not know the addresses yet */               \
    FIELD(of, FLAG, partial)    /* it has only those of them that were not silent */               \
    FIELD(of, FLAG, closed)     /* REFUSED: what there was is closed */                            \
    FIELD(of, COUNT, waits)     /* for a server, in vain, since it was connected last */

/** Read its fields freely; only zkl_connecting_step writes them. */
typedef struct zkl_connecting {
    ZKL_CONNECTING_FIELDS(ZKL_FIELD, )
} zkl_connecting;

/** Returns the state of a client's session that is to be opened. */
zkl_connecting zkl_connecting_begin(bool asks_application);

/** Takes one event, and writes into `actions` what is to be done now, in order. After news the
 *  thread's task stays; after a result the last action is its next task. */
void zkl_connecting_step(zkl_connecting *self, const zkl_connecting_event *event,
                         zkl_connecting_actions *actions);

/** Tells whether a task is only to wait, which WAKE ends. */
bool zkl_connecting_is_wait(zkl_connecting_action_kind task);

/** The times that a client gives its connections, and to how many addresses. */
typedef struct zkl_connecting_times {
    int64_t connect_timeout_ms;
    int64_t session_timeout_ms; /* that was negotiated, or is asked for */
    int64_t left_ms;            /* of the session; before it stands, of the time to connect */
    int64_t addresses;          /* there is one at least */
} zkl_connecting_times;

/** Returns how long WAIT_FOR_SERVER may take, at most: a server that does not answer is left
 *  then. */
int64_t zkl_connecting_patience_ms(const zkl_connecting *self, const zkl_connecting_times *times);
