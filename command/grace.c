#include "grace.h"

#include "duration.h"
#include "exit_status.h"
#include "say.h"

enum {
    LEASE_TICKS_MIN = 5, /* with fewer a lease may end before it is extended */
    GRACE_MAX_MS = 5000, /* unless --grace asks for more */
    MARGIN_MAX_MS = 250
};

/* Returns what is left of a lease at the worst moment of calm operation: see lease_tick_ms in
 * zklock.h. */
static int64_t lease_left_when_calm(int64_t session_ms, int64_t tick_ms) {
    return session_ms * 3 / 10 - tick_ms * 11 / 10;
}

static int64_t grace_of(const job *what, int64_t calm_ms) {
    if (what->on_lost == ON_LOST_KILL) {
        return 0;
    }
    int64_t usual_ms = calm_ms / 2 < GRACE_MAX_MS ? calm_ms / 2 : GRACE_MAX_MS;
    return what->grace_ms >= 0 ? what->grace_ms : usual_ms;
}

int grace_choose(const job *what, shared *both, zkl_client *client) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(client, &information);
    int64_t tick_ms = what->settings->tick_time_ms;
    int64_t calm_ms = lease_left_when_calm(information.session_timeout_ms, tick_ms);
    char session[DURATION_TEXT_SIZE];
    char other[DURATION_TEXT_SIZE];
    duration_write(session, information.session_timeout_ms);
    if (information.session_timeout_ms < LEASE_TICKS_MIN * tick_ms) {
        duration_write(other, tick_ms);
        say("session timeout of %s, as the servers grant it: must be at least %d ticks of %s",
            session, LEASE_TICKS_MIN, other);
        return EXIT_USAGE;
    }
    int64_t margin_ms = calm_ms / 8 < MARGIN_MAX_MS ? calm_ms / 8 : MARGIN_MAX_MS;
    int64_t most_ms = calm_ms - 2 * margin_ms;
    if (what->grace_ms > most_ms) {
        duration_write(other, most_ms);
        say("grace: a session timeout of %s leaves time for at most %s", session, other);
        return EXIT_USAGE;
    }
    both->margin_ms = margin_ms;
    both->grace_ms = grace_of(what, calm_ms);
    return EXIT_DONE;
}
