/*
 * A service of which one instance is active: leader HOSTS ADDRESS [SERVICE]
 *
 * Start it on several machines. One leads and works; the others wait, and take over when it stops,
 * crashes, is cut off or is asked to resign. All print who leads. SIGINT and SIGTERM end it.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <zklock/election.h>

#include "example.h"

enum { STEP_MS = 500 };

/* What the callbacks, which run on zklock's thread, pass to the main thread. */
typedef struct service {
    zkl_election *election;
    _Atomic int64_t asked_term; /* the term that somebody asks to end; 0: none */
    atomic_int campaign_status; /* ZKL_OK, or why the last campaign failed */
    atomic_bool campaigning;    /* the callback of a campaign is still to come */
} service;

static sigset_t signals; /* SIGINT and SIGTERM */
static const struct timespec step_length = { .tv_nsec = STEP_MS * 1000000L };

static void on_elected(void *arg, int64_t term) {
    (void)arg;
    fprintf(stderr, "leading in term %lld\n", (long long)term);
}

static void leader_on_lost(void *arg, int64_t term, int reason) {
    (void)arg;
    fprintf(stderr, "term %lld is over: %s\n", (long long)term, zkl_strerror(reason));
}

/* Notes that somebody asks us to resign, for example by `queue_operator HOSTS revoke`. The main
 * thread, which works, resigns. */
static void on_resignation_asked(void *arg, int64_t term) {
    service *self = arg;
    fprintf(stderr, "asked to resign in term %lld\n", (long long)term);
    self->asked_term = term;
}

/* Tells whether the term was lost between the election and the campaign's callback, which then says
 * why. That is as ordinary as any other loss. */
static bool lost_before_it_began(int status) {
    return status == ZKL_SESSION_EXPIRED || status == ZKL_LEASE_ENDED || status == ZKL_NODE_DELETED;
}

/* Notes how a campaign has ended. After a failed one the program ends, as a person has to look at
 * it. */
static void on_campaign_ended(void *arg, int status, int64_t term) {
    service *self = arg;
    (void)term;
    if (lost_before_it_began(status)) {
        status = zkl_election_campaign_async(self->election, ZKL_FOREVER, on_campaign_ended, self);
        if (status == ZKL_OK) {
            return;
        }
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s\n",
                zkl_error_message()); /* the campaign's message, available only in its callback */
    }
    self->campaign_status = status;
    self->campaigning = false; /* last, as `self` may be gone after it */
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

/* Does what only the leader may do. A real leader passes the term with each write, and its store
 * refuses lower terms. */
static void leader_work(int64_t term) {
    printf("working in term %lld\n", (long long)term);
}

static int campaign(service *self) {
    self->campaigning = true;
    int status = zkl_election_campaign_async(self->election, ZKL_FOREVER, on_campaign_ended, self);
    if (status != ZKL_OK) {
        self->campaigning = false;
    }
    return status;
}

/* Resigns, which says that the work has stopped, as is true here. Then it is a candidate again,
 * behind those that wait. */
static int resign_and_campaign(service *self) {
    (void)zkl_election_resign(self->election, 0);
    return campaign(self);
}

/* Does one step of work, if this instance leads. SUSPECT: it may no longer lead, so it pauses. */
static int step(service *self) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    (void)zkl_lock_info(zkl_election_lock(self->election), &now);
    if (now.state == ZKL_STATE_LOST || (now.token != 0 && now.token == self->asked_term)) {
        return resign_and_campaign(self);
    }
    if (now.state == ZKL_STATE_HELD) {
        leader_work(now.token);
    }
    return self->campaign_status;
}

static int work_until_signal(service *self) {
    int status = campaign(self);
    while (status == ZKL_OK && sigtimedwait(&signals, NULL, &step_length) < 0) {
        status = step(self);
    }
    return status;
}

static int leader_run(zkl_client *client, int argc, char **argv) {
    service self = { .election = NULL };
    const char *resource = argc > 3 ? argv[3] : "service";
    zkl_observer *observer = NULL;
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = argc > 2 ? argv[2] : "";
    options.elected = on_elected;
    options.lost = leader_on_lost;
    options.resignation_asked = on_resignation_asked;
    options.arg = &self;
    int status = zkl_election_open(client, resource, &options, &self.election);
    if (status == ZKL_OK) {
        status = zkl_election_observe(client, resource, on_leader, NULL, &observer);
    }
    if (status == ZKL_OK) {
        status = work_until_signal(&self);
    }
    zkl_observer_close(observer);
    zkl_election_close(self.election); /* resigns */
    while (self.campaigning) {         /* the callback still comes, and needs `self` */
        (void)sigtimedwait(&signals, NULL, &step_length);
    }
    return status;
}

int main(int argc, char **argv) {
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before any thread starts: all inherit it */
    return run_example(argc, argv, NULL, leader_run);
}
