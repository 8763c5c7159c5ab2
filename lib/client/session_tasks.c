#include "client/session_tasks.h"

#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "client/servers.h"
#include "session/session_life.h"

static int connect_session(zkl_client_session *self) {
    ZKL_TRY(zkl_servers_look_up(self));
    zkl_servers_keep_rest(self, NULL);
    pthread_mutex_lock(&self->client->mutex);
    zkl_session_connecting(&self->session);
    pthread_mutex_unlock(&self->client->mutex);
    return zkl_connection_open(self->connection, self->addresses,
                               self->client->options.session_timeout_ms);
}

/* Begins the time to connect, but not anew: whoever waits for a session that is opened once more,
 * as the servers did not take what it showed them, has waited since then. */
static void begin_time_to_connect(zkl_client_session *self) {
    int64_t now_ms = zkl_clock_ms();
    bool is_first = self->connect_status == ZKL_PENDING;
    if (is_first || now_ms - self->asked_for_ms >= self->client->options.connect_timeout_ms) {
        self->asked_for_ms = now_ms;
    }
}

static bool open_session(zkl_client_session *self) {
    zkl_connection_close(self->connection);
    int status = connect_session(self);
    begin_time_to_connect(self);
    ZKL_WITH_MUTEX(&self->client->mutex);
    self->connect_status = status;
    zkl_condition_broadcast(&self->client->changed);
    return status == ZKL_OK;
}

static bool renew(zkl_client_session *self) {
    return zkl_connection_renew(self->connection, self->addresses) == ZKL_OK;
}

static bool replaces_auth(zkl_client_session *self) {
    ZKL_WITH_MUTEX(&self->client->mutex);
    return zkl_protection_replaces_auth(&self->session.sender.protection);
}

static bool check_credentials(zkl_client_session *self) {
    bool good = true;
    if (replaces_auth(self)) {
        good = zkl_credentials_are_known(&self->client->credentials, &self->client->mutex,
                                         &self->shown);
        explicit_bzero(&self->shown, sizeof(self->shown));
    }
    return good;
}

static bool leave_server(zkl_client_session *self) {
    zkl_connection_leave(self->connection, self->addresses);
    return true;
}

static bool introduce(zkl_client_session *self) {
    bool introduced = zkl_connection_introduce(self->connection);
    explicit_bzero(&self->shown, sizeof(self->shown));
    return introduced;
}

static bool look_up(zkl_client_session *self) {
    return zkl_servers_look_up(self) == ZKL_OK;
}

static bool look_up_if_due(zkl_client_session *self) {
    return zkl_clock_ms() - self->looked_up_ms < ZKL_RETRY_PAUSE_MS || look_up(self);
}

static bool give_servers(zkl_client_session *self) {
    zkl_servers_hand_over(self);
    return true;
}

static bool leave_silent_server(zkl_client_session *self) {
    return zkl_servers_leave_silent(self);
}

static bool close_connection(zkl_client_session *self) {
    zkl_connection_close(self->connection);
    return true;
}

/* Returns whether it could be done. */
typedef bool carry_out(zkl_client_session *self);

static carry_out *const tasks[ZKL_CONNECTING_ACTION_END] = {
    [ZKL_CONNECTING_ACTION_OPEN] = open_session,
    [ZKL_CONNECTING_ACTION_RENEW] = renew,
    [ZKL_CONNECTING_ACTION_CHECK_NEW_CREDENTIALS] = check_credentials,
    [ZKL_CONNECTING_ACTION_CHECK_CREDENTIALS] = check_credentials,
    [ZKL_CONNECTING_ACTION_LEAVE_SERVER] = leave_server,
    [ZKL_CONNECTING_ACTION_INTRODUCE] = introduce,
    [ZKL_CONNECTING_ACTION_LOOK_UP_NEW_SERVERS] = look_up,
    [ZKL_CONNECTING_ACTION_LOOK_UP] = look_up,
    [ZKL_CONNECTING_ACTION_LOOK_UP_IF_DUE] = look_up_if_due,
    [ZKL_CONNECTING_ACTION_GIVE_SERVERS] = give_servers,
    [ZKL_CONNECTING_ACTION_LEAVE_SILENT_SERVER] = leave_silent_server,
    [ZKL_CONNECTING_ACTION_CLOSE] = close_connection,
};

bool zkl_session_task_carry_out(zkl_client_session *self, zkl_connecting_action_kind task) {
    return tasks[task](self);
}
