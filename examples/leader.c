/*
 * A service of which one instance is active: leader HOSTS ADDRESS
 *
 * Start it on several machines. One leads and works; the others wait, and take over when it stops,
 * dies or is cut off. All of them print who leads. SIGINT and SIGTERM end it.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <zklock/election.h>

enum { STEP_MS = 500, CLOSE_MS = 5000 };

/* The callbacks run on zklock's thread. */

static void on_elected(void *arg, int64_t term) {
    (void)arg;
    fprintf(stderr, "leading in term %lld\n", (long long)term);
}

static void on_lost(void *arg, int64_t term, int reason) {
    (void)arg;
    fprintf(stderr, "term %lld is over: %s\n", (long long)term, zkl_strerror(reason));
}

/* A campaign that fails is not begun again: somebody has to look at it. */
static void on_campaign_ended(void *arg, int status, int64_t term) {
    (void)arg;
    (void)term;
    if (status != ZKL_OK && status != ZKL_CANCELLED) {
        fprintf(stderr, "cannot campaign: %s\n", zkl_strerror(status));
        kill(getpid(), SIGTERM);
    }
}

static void on_leader(void *arg, const zkl_leader *leader) {
    (void)arg;
    if (leader->status != ZKL_OK) {
        fprintf(stderr, "cannot see who leads: %s\n", zkl_strerror(leader->status));
    } else if (leader->term == 0) {
        fprintf(stderr, "nobody leads\n");
    } else {
        fprintf(stderr, "term %lld: %s leads\n", (long long)leader->term, leader->candidate);
    }
}

/* What only the leader may do. A store would be given the term with each write, and refuse those
 * of lower terms. */
static void work(int64_t term) {
    printf("working in term %lld\n", (long long)term);
}

/* One step of work, where this instance leads. ZKL_SUSPECT: perhaps it does no more, so it pauses.
 * ZKL_LOST: it has stopped, as the work is done here, and says so; then it is a candidate again. */
static int step(zkl_election *election) {
    int64_t term = 0;
    int status = zkl_election_is_leader(election, &term, NULL);
    if (status == ZKL_OK) {
        work(term);
    } else if (status == ZKL_LOST) {
        (void)zkl_election_resign(election, 0);
        return zkl_election_campaign_async(election, ZKL_FOREVER, on_campaign_ended, NULL);
    }
    return ZKL_OK;
}

static int run(zkl_election *election, const sigset_t *signals) {
    static const struct timespec pause = { .tv_nsec = STEP_MS * 1000000L };
    int status = zkl_election_campaign_async(election, ZKL_FOREVER, on_campaign_ended, NULL);
    while (status == ZKL_OK && sigtimedwait(signals, NULL, &pause) < 0) {
        status = step(election);
    }
    return status;
}

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    zkl_election *election = NULL;
    zkl_observer *observer = NULL;
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = argc > 2 ? argv[2] : "";
    options.elected = on_elected;
    options.lost = on_lost;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status == ZKL_OK) {
        status = zkl_election_open(client, "service", &options, &election);
    }
    if (status == ZKL_OK) {
        status = zkl_election_observe(client, "service", on_leader, NULL, &observer);
    }
    if (status == ZKL_OK) {
        status = run(election, &signals);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s %s\n", zkl_strerror(status), zkl_error_message());
    }
    zkl_observer_close(observer);
    zkl_election_close(election); /* resigns */
    zkl_client_close(client, CLOSE_MS);
    return status == ZKL_OK ? 0 : 1;
}
