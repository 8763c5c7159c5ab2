#include "client/session_choice.h"

#include <utlist.h>

#include "base/error_message.h"
#include "client/session_threads.h"

static bool has_room(const zkl_client_session *one, size_t bytes) {
    return one->session.watched_bytes + bytes <= one->client->watched_bytes_max;
}

static int add_session(zkl_client *client, zkl_client_session **result) {
    size_t count = 0;
    const zkl_client_session *one = NULL;
    LL_COUNT(client->sessions, one, count);
    return count < ZKL_SESSIONS_MAX ? zkl_sessions_add(client, result) : ZKL_TOO_MANY_REQUESTS;
}

/* The first session with room, so that few sessions are needed; a connected one is preferred. */
static zkl_client_session *find_room(const zkl_client *client, size_t bytes) {
    zkl_client_session *found = NULL;
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        bool better = found == NULL || (!found->session.connected && one->session.connected);
        if (has_room(one, bytes) && better) {
            found = one;
        }
    }
    return found;
}

/* The next session is opened before the last one is full, so that no request waits for it. */
static void open_ahead(zkl_client *client, const zkl_client_session *used) {
    if (used->next == NULL && !has_room(used, client->watched_bytes_max / 4)) {
        zkl_client_session *ahead = NULL;
        (void)add_session(client, &ahead);
    }
}

int zkl_client_choose_session(zkl_client *client, size_t watched_bytes, zkl_session **session) {
    if (watched_bytes > client->watched_bytes_max) {
        /* No session can help, and none is opened. */
        return zkl_refuse("one request would watch", NULL,
                          "paths of %zu bytes, at most %zu: fewer permits or shorter names",
                          watched_bytes, client->watched_bytes_max);
    }
    zkl_client_session *found = find_room(client, watched_bytes);
    if (found != NULL) {
        open_ahead(client, found);
    } else {
        ZKL_TRY(add_session(client, &found));
    }
    if (found->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    *session = &found->session;
    return ZKL_OK;
}
