#include "recipe/connecting.h"

zkl_connecting zkl_connecting_begin(bool asks_application) {
    return (zkl_connecting){ .asks_application = asks_application };
}

bool zkl_connecting_is_wait(zkl_connecting_action_kind task) {
    return task >= ZKL_CONNECTING_ACTION_WAIT_TO_TRY_AGAIN &&
           task <= ZKL_CONNECTING_ACTION_WAIT_FOR_CLOSING;
}

static void add(zkl_connecting_actions *actions, zkl_connecting_action_kind kind) {
    actions->list[actions->count++] = kind;
}

/* ---- News ----------------------------------------------------------------------------------- */

typedef void reaction(zkl_connecting *self, const zkl_connecting_event *event,
                      zkl_connecting_actions *actions);

static void note_lag(zkl_connecting *self, const zkl_connecting_event *event) {
    self->introduces = false; /* or the next connection begins with it */
    self->may_lag = self->may_lag || (event->renewed && self->established);
}

static void arrive(zkl_connecting *self, zkl_connecting_actions *actions) {
    self->stage = ZKL_CONNECTING_STAGE_CONNECTED;
    self->established = true;
    self->waits = 0;
    add(actions, ZKL_CONNECTING_ACTION_PASS_ON);
}

/* Ignores a new session that was given other credentials meanwhile: the next one shows these. */
static void on_connected(zkl_connecting *self, const zkl_connecting_event *event,
                         zkl_connecting_actions *actions) {
    note_lag(self, event);
    self->was_connected = true;
    if (!self->established && self->has_new_credentials) {
        return;
    }
    if (self->may_lag) {
        self->stage = ZKL_CONNECTING_STAGE_CATCHING_UP;
        add(actions, ZKL_CONNECTING_ACTION_CATCH_UP);
        return;
    }
    arrive(self, actions);
}

static void on_caught_up(zkl_connecting *self, const zkl_connecting_event *event,
                         zkl_connecting_actions *actions) {
    (void)event;
    self->may_lag = false;
    arrive(self, actions);
}

static void on_disconnected(zkl_connecting *self, const zkl_connecting_event *event,
                            zkl_connecting_actions *actions) {
    note_lag(self, event);
    self->was_connected = self->was_connected && !event->renewed;
    self->awaits_credential = false;
    self->stage = ZKL_CONNECTING_STAGE_SEEKING;
    add(actions, ZKL_CONNECTING_ACTION_PASS_ON);
}

/* Notes what says by itself how things stand now. */
static void note(zkl_connecting *self, const zkl_connecting_event *event,
                 zkl_connecting_actions *actions) {
    (void)actions;
    switch (event->kind) {
    case ZKL_CONNECTING_EVENT_ABANDONED:
        self->stage = ZKL_CONNECTING_STAGE_OVER;
        break;
    case ZKL_CONNECTING_EVENT_DENIED:
        self->stage = ZKL_CONNECTING_STAGE_DENIED;
        break;
    case ZKL_CONNECTING_EVENT_CREDENTIAL_AWAITED:
        self->awaits_credential = true;
        break;
    case ZKL_CONNECTING_EVENT_SERVERS_CHANGED:
        self->has_new_servers = true;
        break;
    case ZKL_CONNECTING_EVENT_CREDENTIALS_CHANGED:
        self->has_new_credentials = true;
        break;
    default:
        self->stage = ZKL_CONNECTING_STAGE_CLOSED;
        break;
    }
}

static void on_end(zkl_connecting *self, const zkl_connecting_event *event,
                   zkl_connecting_actions *actions) {
    self->stage = event->kind == ZKL_CONNECTING_EVENT_EXPIRED ? ZKL_CONNECTING_STAGE_OVER
                                                              : ZKL_CONNECTING_STAGE_REFUSED;
    add(actions, ZKL_CONNECTING_ACTION_PASS_ON);
}

static void pass_on(zkl_connecting *self, const zkl_connecting_event *event,
                    zkl_connecting_actions *actions) {
    (void)self;
    (void)event;
    add(actions, ZKL_CONNECTING_ACTION_PASS_ON);
}

/* News of a connection that is about to be closed change nothing: where there is no entry. */
#define NEWS_COUNT (ZKL_CONNECTING_EVENT_CLOSING + 1)
#define STAGE_COUNT (ZKL_CONNECTING_STAGE_CLOSED + 1)
#define AT(stage) [ZKL_CONNECTING_STAGE_##stage]
#define ON(event) [ZKL_CONNECTING_EVENT_##event]

/* Of a session that there is. */
#define CHANGES                                                                                    \
    ON(EXPIRED) = on_end, ON(AUTH_FAILED) = on_end, ON(ABANDONED) = note,                          \
    ON(CREDENTIAL_AWAITED) = note, ON(SERVERS_CHANGED) = note, ON(CREDENTIALS_CHANGED) = note,     \
    ON(CLOSING) = note, ON(CONNECTED) = on_connected, ON(DISCONNECTED) = on_disconnected

static reaction *const reactions[STAGE_COUNT][NEWS_COUNT] = {
    AT(OVER) = { ON(AUTH_FAILED) = on_end, ON(SERVERS_CHANGED) = note,
                 ON(CREDENTIALS_CHANGED) = note, ON(CLOSING) = note },
    AT(SEEKING) = { CHANGES },
    AT(CATCHING_UP) = { CHANGES, ON(CAUGHT_UP) = on_caught_up, ON(DENIED) = note },
    AT(CONNECTED) = { CHANGES, ON(DENIED) = note },
    AT(DENIED) = { CHANGES },
    AT(REFUSED) = { ON(CLOSING) = note },
    AT(CLOSED) = { ON(CONNECTED) = pass_on, ON(DISCONNECTED) = pass_on, ON(EXPIRED) = pass_on,
                   ON(AUTH_FAILED) = pass_on },
};

/* ---- Results -------------------------------------------------------------------------------- */

/* Returns the task that follows at once; NONE: what the state asks for. */
typedef zkl_connecting_action_kind conclusion(zkl_connecting *self,
                                              const zkl_connecting_event *event,
                                              zkl_connecting_actions *actions);

static zkl_connecting_action_kind fail(zkl_connecting *self) {
    self->pauses = true;
    return ZKL_CONNECTING_ACTION_NONE;
}

static zkl_connecting_action_kind on_opened(zkl_connecting *self, const zkl_connecting_event *event,
                                            zkl_connecting_actions *actions) {
    (void)actions;
    bool counts = self->stage == ZKL_CONNECTING_STAGE_SEEKING;
    if (event->kind == ZKL_CONNECTING_EVENT_DONE) {
        return ZKL_CONNECTING_ACTION_NONE;
    }
    self->stage = counts ? ZKL_CONNECTING_STAGE_OVER : self->stage;
    return fail(self);
}

/* Keeps in mind that the old handle may still be there, with the old credentials. */
static zkl_connecting_action_kind on_renewed(zkl_connecting *self,
                                             const zkl_connecting_event *event,
                                             zkl_connecting_actions *actions) {
    (void)actions;
    if (event->kind == ZKL_CONNECTING_EVENT_DONE) {
        return ZKL_CONNECTING_ACTION_NONE;
    }
    self->has_new_credentials = self->has_new_credentials || !self->lacks_handle;
    return fail(self);
}

/* Renews the handle, or goes on with the credentials that it shows. */
static zkl_connecting_action_kind on_new_credentials_checked(zkl_connecting *self,
                                                             const zkl_connecting_event *event,
                                                             zkl_connecting_actions *actions) {
    (void)self;
    if (event->kind == ZKL_CONNECTING_EVENT_DONE) {
        return ZKL_CONNECTING_ACTION_RENEW;
    }
    add(actions, ZKL_CONNECTING_ACTION_REPORT_CREDENTIALS);
    return ZKL_CONNECTING_ACTION_NONE;
}

static bool knows_not_all(const zkl_connecting *self) {
    return self->moved || self->partial;
}

static zkl_connecting_action_kind try_all_again(const zkl_connecting *self) {
    return knows_not_all(self) ? ZKL_CONNECTING_ACTION_GIVE_SERVERS
                               : ZKL_CONNECTING_ACTION_LOOK_UP_IF_DUE;
}

/* Tells whether all servers may turn the handle away for good (lz-seen): those that have lost their
 * data, or got older ones back, are behind what it saw. They take another handle of the session,
 * and tell what has become of it. A server that only lags does so for a while, so the session's
 * timeout is waited for. */
static bool is_turned_away(const zkl_connecting *self, const zkl_connecting_event *event) {
    return event->overdue && self->was_connected && self->stage == ZKL_CONNECTING_STAGE_SEEKING;
}

static zkl_connecting_action_kind on_credentials_checked(zkl_connecting *self,
                                                         const zkl_connecting_event *event,
                                                         zkl_connecting_actions *actions) {
    (void)actions;
    if (is_turned_away(self, event)) {
        return event->kind == ZKL_CONNECTING_EVENT_DONE ? ZKL_CONNECTING_ACTION_RENEW
                                                        : try_all_again(self);
    }
    if (self->stage != ZKL_CONNECTING_STAGE_DENIED) {
        return ZKL_CONNECTING_ACTION_NONE;
    }
    return event->kind == ZKL_CONNECTING_EVENT_DONE ? ZKL_CONNECTING_ACTION_RENEW
                                                    : ZKL_CONNECTING_ACTION_LEAVE_SERVER;
}

static zkl_connecting_action_kind on_introduced(zkl_connecting *self,
                                                const zkl_connecting_event *event,
                                                zkl_connecting_actions *actions) {
    (void)actions;
    if (event->kind == ZKL_CONNECTING_EVENT_DONE) {
        return ZKL_CONNECTING_ACTION_NONE;
    }
    self->awaits_credential = true;
    return fail(self);
}

static zkl_connecting_action_kind on_new_servers_looked_up(zkl_connecting *self,
                                                           const zkl_connecting_event *event,
                                                           zkl_connecting_actions *actions) {
    (void)actions;
    self->moved = self->moved || event->moved;
    if (event->kind == ZKL_CONNECTING_EVENT_FAILED) {
        self->has_new_servers = true;
        return fail(self);
    }
    return knows_not_all(self) ? ZKL_CONNECTING_ACTION_GIVE_SERVERS : ZKL_CONNECTING_ACTION_NONE;
}

/* Lets a connection keep its addresses for as long as it stands: others may cost it. */
static zkl_connecting_action_kind on_looked_up(zkl_connecting *self,
                                               const zkl_connecting_event *event,
                                               zkl_connecting_actions *actions) {
    (void)actions;
    self->moved = self->moved || event->moved;
    return self->moved && self->stage != ZKL_CONNECTING_STAGE_CONNECTED
               ? ZKL_CONNECTING_ACTION_GIVE_SERVERS
               : ZKL_CONNECTING_ACTION_NONE;
}

static zkl_connecting_action_kind on_given(zkl_connecting *self, const zkl_connecting_event *event,
                                           zkl_connecting_actions *actions) {
    (void)event;
    (void)actions;
    self->moved = false;
    self->partial = false;
    return self->waits > 0 ? ZKL_CONNECTING_ACTION_LOOK_UP_IF_DUE : ZKL_CONNECTING_ACTION_NONE;
}

/* Looks up last whether the servers have moved, as that may take long. */
static zkl_connecting_action_kind on_silent_server_left(zkl_connecting *self,
                                                        const zkl_connecting_event *event,
                                                        zkl_connecting_actions *actions) {
    (void)actions;
    if (event->kind == ZKL_CONNECTING_EVENT_FAILED) {
        return is_turned_away(self, event) ? ZKL_CONNECTING_ACTION_CHECK_CREDENTIALS
                                           : try_all_again(self);
    }
    self->moved = false;
    self->partial = true;
    return ZKL_CONNECTING_ACTION_LOOK_UP_IF_DUE;
}

static zkl_connecting_action_kind on_closed(zkl_connecting *self, const zkl_connecting_event *event,
                                            zkl_connecting_actions *actions) {
    (void)event;
    (void)actions;
    self->closed = true;
    return ZKL_CONNECTING_ACTION_NONE;
}

static zkl_connecting_action_kind on_pause_over(zkl_connecting *self,
                                                const zkl_connecting_event *event,
                                                zkl_connecting_actions *actions) {
    (void)event;
    (void)actions;
    self->pauses = false;
    return ZKL_CONNECTING_ACTION_NONE;
}

/* Leaves the server, which may be silent. Where the write of CATCH_UP could not be sent, it is
 * tried again. */
static zkl_connecting_action_kind on_patience_over(zkl_connecting *self,
                                                   const zkl_connecting_event *event,
                                                   zkl_connecting_actions *actions) {
    (void)event;
    self->waits++;
    if (self->stage == ZKL_CONNECTING_STAGE_CATCHING_UP) {
        add(actions, ZKL_CONNECTING_ACTION_CATCH_UP);
    }
    return ZKL_CONNECTING_ACTION_LEAVE_SILENT_SERVER;
}

/* Pings are answered, or the connection would have been given up. */
static zkl_connecting_action_kind on_no_answer_to_credential(zkl_connecting *self,
                                                             const zkl_connecting_event *event,
                                                             zkl_connecting_actions *actions) {
    (void)event;
    (void)actions;
    self->stage = ZKL_CONNECTING_STAGE_OVER;
    return ZKL_CONNECTING_ACTION_NONE;
}

static zkl_connecting_action_kind on_look_up_due(zkl_connecting *self,
                                                 const zkl_connecting_event *event,
                                                 zkl_connecting_actions *actions) {
    (void)self;
    (void)event;
    (void)actions;
    return ZKL_CONNECTING_ACTION_LOOK_UP;
}

/* Prefers another handle, which forgets requests that the server owes an answer. But it shows what
 * the callback gives by now, or a list that the session has refused: so the same one connects again
 * there. */
static zkl_connecting_action_kind on_may_leave(zkl_connecting *self,
                                               const zkl_connecting_event *event,
                                               zkl_connecting_actions *actions) {
    (void)event;
    (void)actions;
    return self->asks_application ? ZKL_CONNECTING_ACTION_LEAVE_SERVER
                                  : ZKL_CONNECTING_ACTION_CHECK_CREDENTIALS;
}

#define OF(task) [ZKL_CONNECTING_ACTION_##task]

/* Of DONE and FAILED. */
static conclusion *const results[ZKL_CONNECTING_ACTION_END + 1] = {
    OF(OPEN) = on_opened,
    OF(RENEW) = on_renewed,
    OF(CHECK_NEW_CREDENTIALS) = on_new_credentials_checked,
    OF(CHECK_CREDENTIALS) = on_credentials_checked,
    OF(INTRODUCE) = on_introduced,
    OF(LOOK_UP_NEW_SERVERS) = on_new_servers_looked_up,
    OF(LOOK_UP) = on_looked_up,
    OF(LOOK_UP_IF_DUE) = on_looked_up,
    OF(GIVE_SERVERS) = on_given,
    OF(LEAVE_SILENT_SERVER) = on_silent_server_left,
    OF(CLOSE) = on_closed,
    OF(WAIT_TO_TRY_AGAIN) = on_pause_over,
    OF(WAIT_FOR_SERVER) = on_patience_over,
    OF(WAIT_FOR_CREDENTIAL) = on_no_answer_to_credential,
    OF(WAIT_TO_LOOK_UP) = on_look_up_due,
    OF(WAIT_TO_LEAVE) = on_may_leave,
};

/* ---- What is next --------------------------------------------------------------------------- */

static zkl_connecting_action_kind wait_for_connection(const zkl_connecting *self) {
    if (self->waits == 0 && knows_not_all(self)) {
        return ZKL_CONNECTING_ACTION_GIVE_SERVERS;
    }
    return self->introduces && !self->established ? ZKL_CONNECTING_ACTION_WAIT_FOR_CREDENTIAL
                                                  : ZKL_CONNECTING_ACTION_WAIT_FOR_SERVER;
}

static zkl_connecting_action_kind serve_session(const zkl_connecting *self) {
    if (self->lacks_handle) {
        return ZKL_CONNECTING_ACTION_RENEW;
    }
    if (self->has_new_credentials) {
        /* A session that is not established yet begins anew: libzookeeper repeats all that it was
         * ever given (lz-credentials). */
        return self->established ? ZKL_CONNECTING_ACTION_CHECK_NEW_CREDENTIALS
                                 : ZKL_CONNECTING_ACTION_OPEN;
    }
    if (self->stage == ZKL_CONNECTING_STAGE_DENIED) {
        return ZKL_CONNECTING_ACTION_WAIT_TO_LEAVE;
    }
    if (self->awaits_credential) {
        return ZKL_CONNECTING_ACTION_INTRODUCE;
    }
    if (self->has_new_servers) {
        return ZKL_CONNECTING_ACTION_LOOK_UP_NEW_SERVERS;
    }
    return self->stage == ZKL_CONNECTING_STAGE_CONNECTED ? ZKL_CONNECTING_ACTION_WAIT_TO_LOOK_UP
                                                         : wait_for_connection(self);
}

/* Returns the task that the state asks for. `wanted`: what follows from the last one, if there is a
 * session still. */
static zkl_connecting_action_kind next_task(const zkl_connecting *self,
                                            zkl_connecting_action_kind wanted) {
    if (self->stage == ZKL_CONNECTING_STAGE_CLOSED) {
        return ZKL_CONNECTING_ACTION_END;
    }
    if (self->pauses) {
        return ZKL_CONNECTING_ACTION_WAIT_TO_TRY_AGAIN;
    }
    if (self->stage == ZKL_CONNECTING_STAGE_REFUSED) {
        return self->closed ? ZKL_CONNECTING_ACTION_WAIT_FOR_CLOSING : ZKL_CONNECTING_ACTION_CLOSE;
    }
    if (self->stage == ZKL_CONNECTING_STAGE_OVER) {
        return ZKL_CONNECTING_ACTION_OPEN;
    }
    return wanted != ZKL_CONNECTING_ACTION_NONE ? wanted : serve_session(self);
}

/* News of the new session may come before it is opened. */
static void begin_session(zkl_connecting *self) {
    *self = (zkl_connecting){ .asks_application = self->asks_application,
                              .stage = ZKL_CONNECTING_STAGE_SEEKING,
                              .has_new_servers = self->has_new_servers };
}

/* Takes up with a task what it is about: what comes meanwhile counts anew. */
static void take_up(zkl_connecting *self, zkl_connecting_action_kind task) {
    switch (task) {
    case ZKL_CONNECTING_ACTION_OPEN:
        begin_session(self);
        break;
    case ZKL_CONNECTING_ACTION_RENEW:
        self->introduces = false;
        break;
    case ZKL_CONNECTING_ACTION_CHECK_NEW_CREDENTIALS:
        self->has_new_credentials = false;
        break;
    case ZKL_CONNECTING_ACTION_INTRODUCE:
        self->awaits_credential = false;
        self->introduces = true;
        break;
    case ZKL_CONNECTING_ACTION_LOOK_UP_NEW_SERVERS:
        self->has_new_servers = false;
        break;
    default:
        break;
    }
    self->under_way = task;
    self->woken = false;
}

/* Lets the thread go on with what it does, unless it only waits, and not for what is next now. */
static void take_news(zkl_connecting *self, const zkl_connecting_event *event,
                      zkl_connecting_actions *actions) {
    reaction *react = reactions[self->stage][event->kind];
    if (react != NULL) {
        react(self, event, actions);
    }
    if (zkl_connecting_is_wait(self->under_way) && !self->woken &&
        next_task(self, ZKL_CONNECTING_ACTION_NONE) != self->under_way) {
        self->woken = true;
        add(actions, ZKL_CONNECTING_ACTION_WAKE);
    }
}

static void take_result(zkl_connecting *self, const zkl_connecting_event *event,
                        zkl_connecting_actions *actions) {
    conclusion *conclude =
        event->kind != ZKL_CONNECTING_EVENT_WOKEN ? results[self->under_way] : NULL;
    if (!zkl_connecting_is_wait(self->under_way)) {
        self->lacks_handle = event->lacks_handle;
    }
    zkl_connecting_action_kind wanted =
        conclude != NULL ? conclude(self, event, actions) : ZKL_CONNECTING_ACTION_NONE;
    zkl_connecting_action_kind task = next_task(self, wanted);
    take_up(self, task);
    add(actions, task);
}

void zkl_connecting_step(zkl_connecting *self, const zkl_connecting_event *event,
                         zkl_connecting_actions *actions) {
    actions->count = 0;
    if (event->kind <= ZKL_CONNECTING_EVENT_CLOSING) {
        take_news(self, event, actions);
    } else {
        take_result(self, event, actions);
    }
}
