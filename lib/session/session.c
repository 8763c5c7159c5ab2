#include "session/session.h"

#include <string.h>

zkl_session_facts zkl_session_facts_of(const zkl_session *session) {
    return (zkl_session_facts){ session->log, session->metrics, session->label, session->id };
}

int64_t zkl_session_now_ms(const zkl_session *session) {
    return zkl_sender_now_ms(&session->sender);
}

int64_t zkl_session_deadline(const zkl_session *session, int64_t duration_ms) {
    int64_t now = zkl_session_now_ms(session);
    return duration_ms > 0 && duration_ms < INT64_MAX - now ? now + duration_ms : INT64_MAX;
}

void zkl_session_set_timer(zkl_session *session, zkl_timer *timer, int64_t duration_ms) {
    int64_t deadline_ms = zkl_session_deadline(session, duration_ms);
    if (deadline_ms != INT64_MAX) {
        zkl_timers_set(session->timers, timer, deadline_ms);
    }
}

bool zkl_session_make_guid(zkl_session *session, bool protects, char guid[ZKL_GUID_SIZE]) {
    unsigned char b[16];
    if (!session->operations->table->random(session->operations, b, sizeof(b))) {
        return false;
    }
    b[6] = (unsigned char)((b[6] & 0x0fU) | 0x40U); /* RFC 9562: version 4, */
    b[8] = (unsigned char)((b[8] & 0x3fU) | 0x80U); /* and its variant */
    static const unsigned char at[] = { 0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34 };
    memcpy(guid, "........-....-....-....-............", ZKL_GUID_SIZE);
    for (size_t i = 0; i < sizeof(b); i++) { /* snprintf takes longer than all else here */
        guid[at[i]] = "0123456789abcdef"[b[i] >> 4U];
        guid[at[i] + 1] = "0123456789abcdef"[b[i] & 0xfU];
    }
    if (protects && session->sender.protection.marks) {
        guid[ZKL_GUID_VERSION_AT] = ZKL_GUID_VERSION_PROTECTED;
    }
    return true;
}

int64_t zkl_session_shorten(const zkl_session *session, int64_t pause_ms) {
    uint32_t random = 0;
    (void)session->operations->table->random(session->operations, &random, sizeof(random));
    return pause_ms - random % (pause_ms / 2 + 1);
}

/* Takes it that the servers have heard of it when they last answered. If it was idle, that is long
 * ago; but then libzookeeper has pinged them, and noticed their silence after two thirds of the
 * timeout. */
int64_t zkl_session_left_ms(const zkl_session *session) {
    int64_t unconnected_ms = zkl_session_now_ms(session) - session->unconnected_ms;
    int64_t silence_ms = (int64_t)session->timeout_ms * 2 / 3 + unconnected_ms;
    int64_t unheard_ms = zkl_liveness_silence_ms(&session->liveness);
    return session->timeout_ms - (unheard_ms < silence_ms ? unheard_ms : silence_ms);
}

int64_t zkl_session_left_behind_ms(const zkl_session *session) {
    if (session->left_behind_ms == 0) {
        return 0;
    }
    if (!session->connected) {
        return INT64_MAX;
    }
    int64_t passed = zkl_session_now_ms(session) - session->connected_ms;
    return passed > session->left_behind_ms ? 0 : session->left_behind_ms - passed + 1;
}
