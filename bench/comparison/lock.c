#include "lock.h"

#include "clock.h"
#include "database.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *second;
static int other = -1; /* leads to the second process */
static volatile sig_atomic_t is_waiting;

/* A write that is on its way is left alone. */
static void end_wait(void) {
    if (is_waiting) {
        database_cut();
    }
}

lock_answer lock_acquire(const char *product, int64_t wait_ms, int64_t *token) {
    is_waiting = 1;
    lock_answer answer = the_mechanism.acquire(product, wait_ms, token);
    is_waiting = 0;
    return answer;
}

static void open_mechanism(const lock_settings *settings, const char *database) {
    clock_open(end_wait);
    database_open(database);
    (void)database_run("SELECT 1"); /* a buyer that is ready has its connection */
    the_mechanism.open(settings);
}

/* ---- The second process ---------------------------------------------------------------------- */

enum { RELEASE = -1 };

/* A request is the time to wait, or RELEASE; the answer a lock_answer. */
static void serve(int buyer) {
    int64_t wait_ms = 0;
    while (read(buyer, &wait_ms, sizeof wait_ms) == sizeof wait_ms) {
        int64_t token = LOCK_NO_TOKEN;
        int64_t answer = LOCK_GRANTED;
        if (wait_ms == RELEASE) {
            the_mechanism.release(second);
        } else {
            answer = lock_acquire(second, wait_ms, &token);
        }
        if (send(buyer, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) {
            break;
        }
    }
}

static void run_second(int buyer, const lock_settings *settings, const char *database) {
    char name[128];
    lock_settings own = *settings;
    (void)snprintf(name, sizeof name, "%s-second", settings->buyer);
    own.buyer = name;
    /* Ends with the buyer, whose voice is not its own. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "r", stdin) == NULL) {
        exit(2);
    }
    open_mechanism(&own, database);
    serve(buyer);
    exit(0);
}

static void start_second(const lock_settings *settings, const char *database) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        perror("socketpair");
        exit(2);
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_second(ends[1], settings, database);
    }
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    close(ends[1]);
    other = ends[0];
}

/* SIGTERM ends the wait for the answer. */
static lock_answer ask_second(int64_t request) {
    int64_t answer = LOCK_UNKNOWN;
    if (send(other, &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        read(other, &answer, sizeof answer) != sizeof answer) {
        return LOCK_UNKNOWN;
    }
    return (lock_answer)answer;
}

/* ---- Both ------------------------------------------------------------------------------------ */

void lock_open(const lock_settings *settings, const char *database) {
    second = settings->second;
    if (*second != '\0' && !the_mechanism.is_of_connection && !the_mechanism.takes_both) {
        start_second(settings, database);
    }
    open_mechanism(settings, database);
}

lock_answer lock_acquire_second(int64_t wait_ms) {
    int64_t token = LOCK_NO_TOKEN;
    if (the_mechanism.takes_both) {
        return LOCK_GRANTED;
    }
    return other < 0 ? lock_acquire(second, wait_ms, &token) : ask_second(wait_ms);
}

void lock_release_second(void) {
    if (other >= 0) {
        (void)ask_second(RELEASE);
    } else if (!the_mechanism.takes_both) {
        the_mechanism.release(second);
    }
}
