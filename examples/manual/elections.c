/* Parts of candidates and observers, which the manual's pages show: elections HOSTS */
#include <zklock/election.h>

#include "../example.h"

enum { PATIENCE_MS = 5000 };

static void on_elected(void *arg, int64_t term) {
    (void)arg;
    printf("we lead in term %lld\n", (long long)term);
}

static void on_lost(void *arg, int64_t term, int reason) {
    (void)arg;
    printf("term %lld is over: %s\n", (long long)term, zkl_strerror(reason));
}

static void on_resignation_asked(void *arg, int64_t term) {
    zkl_election *const *election = arg;
    printf("asked to resign in term %lld\n", (long long)term);
    /* With a timeout of 0 it does not block, as in a callback it must not. */
    (void)zkl_election_resign(*election, 0);
}

static int stand(zkl_client *client, zkl_election **election) {
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = "10.0.0.7:8080"; /* what observers are told */
    options.elected = on_elected;
    options.lost = on_lost;
    options.resignation_asked = on_resignation_asked;
    options.arg = election;
    return zkl_election_open(client, "scheduler", &options, election);
}

/* Leads once, for as long as it works, and lets the next one lead. */
static int lead_once(zkl_election *election) {
    int64_t term = 0;
    int status = zkl_election_campaign(election, PATIENCE_MS, &term);
    if (status != ZKL_OK) {
        return status;
    }
    if (zkl_lock_check(zkl_election_lock(election), NULL) == ZKL_OK) { /* before each act */
        printf("working in term %lld\n", (long long)term);
    }
    return zkl_election_resign(election, PATIENCE_MS);
}

static void on_campaign_over(void *arg, int status, int64_t term) {
    zkl_election *election = arg;
    (void)term; /* on_elected receives it too */
    if (status == ZKL_SESSION_EXPIRED || status == ZKL_LEASE_ENDED || status == ZKL_NODE_DELETED) {
        /* Elected, and lost before this could be told: stand again. */
        status = zkl_election_campaign_async(election, ZKL_FOREVER, on_campaign_over, election);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "no candidate any more: %s\n", zkl_strerror(status));
    }
}

static int campaign(zkl_election *election) {
    return zkl_election_campaign_async(election, ZKL_FOREVER, on_campaign_over, election);
}

static void on_resigned(void *arg, int status) {
    (void)arg;
    printf("the servers have heard of it: %s\n", zkl_strerror(status));
}

/* Resigns: we do not lead from the moment of the call on. */
static int resign(zkl_election *election) {
    return zkl_election_resign_async(election, PATIENCE_MS, on_resigned, NULL);
}

static void on_leader(void *arg, const zkl_leader *leader) {
    (void)arg;
    if (leader->status != ZKL_OK) {
        printf("cannot see who leads: %s\n", zkl_strerror(leader->status));
    } else if (leader->term == 0) {
        printf("nobody leads\n");
    } else {
        printf("%s leads in term %lld\n", leader->candidate, (long long)leader->term);
    }
}

static void observe(zkl_client *client, void (*do_other_work)(zkl_election *), zkl_election *own) {
    zkl_observer *observer = NULL;
    int status = zkl_election_observe(client, "scheduler", on_leader, NULL, &observer);
    if (status != ZKL_OK) {
        fprintf(stderr, "not observed: %s\n", zkl_error_message());
    }
    do_other_work(own);
    zkl_observer_close(observer); /* no callback begins any more */
}

static void take_part(zkl_election *election) {
    if (campaign(election) == ZKL_OK && resign(election) == ZKL_HANDLE_IN_USE) {
        printf("not elected yet\n");
    }
}

/* Leads once, and then is a candidate no more. */
static int run_candidate(zkl_client *client) {
    zkl_election *election = NULL;
    int status = stand(client, &election);
    if (status == ZKL_OK) {
        status = lead_once(election);
    }
    zkl_election_close(election); /* ends a campaign, resigns */
    return status;
}

static int elections_run(zkl_client *client, int argc, char **argv) {
    zkl_election *election = NULL;
    (void)argc;
    (void)argv;
    int status = run_candidate(client);
    if (status == ZKL_OK) {
        status = zkl_election_open(client, "scheduler", NULL, &election);
    }
    if (status == ZKL_OK) {
        observe(client, take_part, election);
    }
    zkl_election_close(election);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, elections_run);
}
