#include "service.h"

#include <stdlib.h>
#include <string.h>

#include "threads.h"
#include "zookeeper/resolve.h"

/* How long to wait before names that could not be resolved are tried again,
 * and how often they are looked up while no server answers. */
enum { RETRY_PAUSE_MS = 1000, LOOK_UP_AGAIN_MS = 10000 };

/* ---- Timers ---------------------------------------------------------------- */

static void *fire_timers(void *arg) {
    zkl_client *client = arg;
    pthread_mutex_lock(&client->mutex);
    while (!client->stopping) {
        zkl_timers_fire_due(&client->session.timers, zkl_clock_ms());
        int64_t next = zkl_timers_next(&client->session.timers);
        int64_t wait = next == INT64_MAX ? INT64_MAX : next - zkl_clock_ms();
        zkl_condition_wait(&client->timers_changed, &client->mutex, wait);
    }
    pthread_mutex_unlock(&client->mutex);
    return NULL;
}

/* ---- Connecting ------------------------------------------------------------- */

static int connect_session(zkl_client *client) {
    char *addresses = NULL;
    int status = zkl_resolve_servers(client->servers, &addresses);
    if (status == ZKL_OK) {
        status = zkl_libzookeeper_connect(client->zookeeper, addresses, client->session_timeout_ms);
    }
    free(addresses);
    return status;
}

/* Waits, with the mutex held, until told to stop or for so long. */
static void pause_connecting(zkl_client *client, int64_t ms) {
    int64_t start = zkl_clock_ms();
    while (!client->stopping) {
        int64_t left = ms - (zkl_clock_ms() - start);
        if (left <= 0) {
            return;
        }
        zkl_condition_wait(&client->session_changed, &client->mutex, left);
    }
}

/* Called with the mutex held, which is let go meanwhile. The flag goes down
 * before the new session can possibly expire in its turn. */
static void open_next_session(zkl_client *client) {
    client->session_is_over = false;
    pthread_mutex_unlock(&client->mutex);
    zkl_libzookeeper_disconnect(client->zookeeper);
    int status = connect_session(client);
    pthread_mutex_lock(&client->mutex);
    if (status != ZKL_OK) {
        client->session_is_over = true;
        pause_connecting(client, RETRY_PAUSE_MS);
    }
}

/* The servers may have moved to other addresses. */
static void look_up_again(zkl_client *client) {
    char *addresses = NULL;
    pthread_mutex_unlock(&client->mutex);
    if (zkl_resolve_servers(client->servers, &addresses) == ZKL_OK) {
        zkl_libzookeeper_set_servers(client->zookeeper, addresses);
    }
    free(addresses);
    pthread_mutex_lock(&client->mutex);
}

static void wait_for_connection(zkl_client *client) {
    int64_t start = zkl_clock_ms();
    int64_t left = LOOK_UP_AGAIN_MS;
    while (left > 0 && !client->stopping && !client->session_is_over &&
           !client->session.connected) {
        zkl_condition_wait(&client->session_changed, &client->mutex, left);
        left = LOOK_UP_AGAIN_MS - (zkl_clock_ms() - start);
    }
    if (left <= 0 && !client->session.auth_failed) {
        look_up_again(client);
    }
}

static void *keep_connected(void *arg) {
    zkl_client *client = arg;
    pthread_mutex_lock(&client->mutex);
    while (!client->stopping) {
        if (client->session_is_over) {
            open_next_session(client);
        } else if (client->session.connected) {
            zkl_condition_wait(&client->session_changed, &client->mutex, INT64_MAX);
        } else {
            wait_for_connection(client);
        }
    }
    pthread_mutex_unlock(&client->mutex);
    return NULL;
}

/* ---- Beginning and end ------------------------------------------------------- */

static void stop_threads(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->stopping = true;
    pthread_cond_signal(&client->timers_changed);
    pthread_cond_signal(&client->session_changed);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->timer_thread, NULL);
}

int zkl_service_start(zkl_client *client) {
    int status = connect_session(client);
    if (status != ZKL_OK) {
        return status;
    }
    if (!zkl_thread_start(&client->timer_thread, fire_timers, client)) {
        zkl_libzookeeper_disconnect(client->zookeeper);
        return ZKL_SYSTEM;
    }
    if (!zkl_thread_start(&client->connect_thread, keep_connected, client)) {
        stop_threads(client);
        zkl_libzookeeper_disconnect(client->zookeeper);
        return ZKL_SYSTEM;
    }
    return ZKL_OK;
}

void zkl_service_stop(zkl_client *client) {
    stop_threads(client);
    pthread_join(client->connect_thread, NULL);
    zkl_libzookeeper_disconnect(client->zookeeper);
}
