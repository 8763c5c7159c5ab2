/* zklock/testing.h: the faults that a test can order. */
#include <inttypes.h>

#include "client/client.h"
#include "testing/client_connection.h"
#include "testing/testing.h"
#include "testing/world.h"
#include "zklock/testing.h"

/* ---- Clients ------------------------------------------------------------------------ */

static void insist_on_client(const char *function, const zkl_client *client) {
    zkl_testing_insist(client != NULL, function, "client must not be NULL");
}

/* The client may be closed by another task while this one waits for a leader. */
void zkl_testing_expire_session(zkl_client *client) {
    static const char function[] = "zkl_testing_expire_session";
    int64_t ids[ZKL_SESSIONS_MAX];
    size_t count = 0;
    (void)zkl_testing_ensemble(function);
    insist_on_client(function, client);
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (one->session.established && count < ZKL_SESSIONS_MAX) {
            ids[count++] = one->session.id;
        }
    }
    zkl_ensemble *ensemble = zkl_testing_led_ensemble(function);
    for (size_t i = 0; i < count; i++) {
        zkl_testing_trace("FAULT", "session %" PRIx64 " is ended", (uint64_t)ids[i]);
        (void)zkl_ensemble_expire(ensemble, ids[i]);
    }
}

static void cut_off(const char *function, const zkl_client *client, zkl_cut cut, int64_t ms) {
    (void)zkl_testing_ensemble(function);
    insist_on_client(function, client);
    int64_t until_us = zkl_testing_moment_after(function, ms);
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_testing_trace("FAULT", "session %" PRIx64 " is cut off for %" PRId64 " ms%s",
                          (uint64_t)one->session.id, ms,
                          cut == ZKL_CUT_SILENT ? ", and not told" : "");
        zkl_client_cut_off(one->connection, cut, until_us);
    }
}

void zkl_testing_disconnect(zkl_client *client, int64_t ms) {
    cut_off("zkl_testing_disconnect", client, ZKL_CUT_REQUESTS_LOST, ms);
}

void zkl_testing_partition(zkl_client *client, int64_t ms) {
    cut_off("zkl_testing_partition", client, ZKL_CUT_SILENT, ms);
}

void zkl_testing_lose_reply(zkl_client *client, zkl_testing_request request, int carried_out) {
    static const char function[] = "zkl_testing_lose_reply";
    zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    insist_on_client(function, client);
    zkl_testing_insist(request == ZKL_TESTING_CREATE || request == ZKL_TESTING_DELETE, function,
                       "request must be ZKL_TESTING_CREATE or ZKL_TESTING_DELETE");
    zkl_cut cut = carried_out != 0 ? ZKL_CUT_WHEN_ANSWERED : ZKL_CUT_REQUESTS_LOST;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_testing_trace("FAULT", "session %" PRIx64 ": the next %s is %s",
                          (uint64_t)one->session.id,
                          request == ZKL_TESTING_CREATE ? "create" : "delete",
                          carried_out != 0 ? "carried out, and its reply lost" : "lost");
        if (request == ZKL_TESTING_CREATE) {
            zkl_ensemble_cut_next_contender(ensemble, one->session.id, cut);
        } else {
            zkl_ensemble_cut_next(ensemble, one->session.id, ZKL_CALL_DELETE, cut, 0);
        }
    }
}

/* ---- Servers ------------------------------------------------------------------------ */

void zkl_testing_stop_servers(void) {
    zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_stop_servers");
    zkl_testing_trace("FAULT", "the servers stop");
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
}

void zkl_testing_start_servers(void) {
    zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_start_servers");
    zkl_testing_trace("FAULT", "the servers start");
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_start_server(ensemble, i);
    }
}

void zkl_testing_elect_leader(void) {
    zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_elect_leader");
    zkl_testing_trace("FAULT", "the leader steps down");
    zkl_ensemble_change_leader(ensemble);
}

void zkl_testing_slow_servers(int64_t by_ms, int64_t for_ms) {
    static const char function[] = "zkl_testing_slow_servers";
    zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    int64_t until_us = zkl_testing_moment_after(function, for_ms);
    zkl_testing_trace("FAULT", "commits take %" PRId64 " ms longer, for %" PRId64 " ms", by_ms,
                      for_ms);
    zkl_ensemble_slow_commits(ensemble, zkl_testing_to_us(function, by_ms),
                              until_us - zkl_world_now_us());
}

void zkl_testing_set_failure_rate(uint32_t per_million) {
    static const char function[] = "zkl_testing_set_failure_rate";
    const uint32_t million = 1000000;
    const uint32_t kinds = 3; /* of a connection that breaks */
    zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    zkl_testing_insist(per_million <= million, function, "per_million must not exceed 1000000");
    zkl_testing_trace("FAULT", "from now on %" PRIu32 " in a million messages", per_million);
    zkl_ensemble_set_rates(ensemble, &(zkl_ensemble_rates){
                                         .request_lost = (per_million + 2) / kinds,
                                         .reply_lost = (per_million + 1) / kinds,
                                         .request_late = per_million / kinds,
                                         .connect_refused = per_million,
                                         .slow_message = per_million,
                                         .slow_commit = per_million,
                                     });
}

void zkl_testing_heal(void) {
    zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_heal");
    zkl_testing_trace("FAULT", "none any more");
    zkl_ensemble_heal(ensemble);
}
