/*
 * Elections on real servers: candidates in processes of their own that are killed, stopped or
 * resign, and observers that follow who leads over lost connections and sessions.
 */
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zklock/administration.h>
#include <zklock/election.h>

#define SESSION_MS 6000
/* For what must not happen; it would come within a round trip, or an observer's pause. */
#define QUIET_MS 300

/* ---- What an observer is told ------------------------------------------------------------ */

#define SIGHTS_MAX 64

struct sight {
    int64_t term; /* 0: nobody leads */
    int64_t session_id;
    char candidate[64];
};

/* An observer, and all that it was told. */
struct observation {
    zkl_observer *observer;
    pthread_mutex_t mutex;
    int count;
    struct sight list[SIGHTS_MAX];
};

static void on_leader(void *arg, const zkl_leader *leader) {
    struct observation *observation = arg;
    pthread_mutex_lock(&observation->mutex);
    if (leader->status == ZKL_OK && observation->count < SIGHTS_MAX) {
        struct sight *sight = &observation->list[observation->count++];
        sight->term = leader->term;
        sight->session_id = leader->session_id;
        snprintf(sight->candidate, sizeof sight->candidate, "%s", leader->candidate);
    }
    pthread_mutex_unlock(&observation->mutex);
}

static void observe(struct observation *observation, zkl_client *client, const char *resource) {
    observation->count = 0;
    pthread_mutex_init(&observation->mutex, NULL);
    ASSERT_STATUS(
        zkl_election_observe(client, resource, on_leader, observation, &observation->observer),
        ZKL_OK);
}

static void observation_end(struct observation *observation) {
    zkl_observer_close(observation->observer);
    pthread_mutex_destroy(&observation->mutex);
}

static int sights(struct observation *observation) {
    pthread_mutex_lock(&observation->mutex);
    int count = observation->count;
    pthread_mutex_unlock(&observation->mutex);
    return count;
}

static struct sight last_sight(struct observation *observation) {
    struct sight last = { .term = -1 };
    pthread_mutex_lock(&observation->mutex);
    if (observation->count > 0) {
        last = observation->list[observation->count - 1];
    }
    pthread_mutex_unlock(&observation->mutex);
    return last;
}

static bool sees(struct observation *observation, int64_t term, const char *candidate) {
    struct sight last = last_sight(observation);
    return last.term == term && strcmp(last.candidate, candidate) == 0;
}

/* Between two leaders it may have been told that nobody leads; nothing else. */
static void assert_was_told_in_order(struct observation *observation, const int64_t *terms,
                                     int count) {
    int seen = 0;
    for (int i = 0; i < sights(observation); i++) {
        int64_t term = observation->list[i].term;
        if (term != 0 && (seen == 0 || term != terms[seen - 1])) {
            CU_ASSERT_TRUE(seen < count && term == terms[seen]);
            seen += seen < count ? 1 : 0;
        }
    }
    ASSERT_NUMBER(seen, count);
}

/* ---- Candidates in processes --------------------------------------------------------------- */

enum { CANDIDATES = 3 };

static const char *const names[CANDIDATES] = { "red", "green", "blue" };

/* They campaign in this order; an observer looks on from the beginning. */
struct race {
    struct scene scene;
    zkl_client *client;
    struct observation observation;
    struct process candidates[CANDIDATES];
    int64_t terms[CANDIDATES];
};

static int64_t assert_is_elected(struct process *candidate) {
    zkl_grant elected;
    ASSERT_STATUS(process_answer_grant(candidate, &elected), ZKL_OK);
    return elected.token;
}

static int leads(struct process *candidate, int64_t *term) {
    zkl_grant answer;
    process_tell(candidate, "leads\n");
    int status = process_answer_grant(candidate, &answer);
    *term = answer.token;
    return status;
}

static int64_t how_often_told(struct process *candidate, const char *what) {
    zkl_grant answer;
    process_tell(candidate, "told %s\n", what);
    ASSERT_STATUS(process_answer_grant(candidate, &answer), ZKL_OK);
    return answer.token;
}

static void race_begin(struct race *race, const char *stem) {
    scene_begin(&race->scene, stem);
    race->client = client_open(servers_hosts(), LONG_SESSION_MS);
    observe(&race->observation, race->client, race->scene.resource);
    for (int i = 0; i < CANDIDATES; i++) {
        process_start(&race->candidates[i],
                      &(struct process_options){ .hosts = servers_hosts(),
                                                 .resource = race->scene.resource,
                                                 .session_timeout_ms = SHORT_SESSION_MS });
        process_tell(&race->candidates[i], "campaign %d %s\n", 2 * PATIENCE_MS, names[i]);
        WAIT_UNTIL(scene_queue(&race->scene) == i + 1);
    }
}

/* It leads by its own word, and the observer's; the others do not. */
static void assert_leads(struct race *race, int i) {
    int64_t term = 0;
    race->terms[i] = assert_is_elected(&race->candidates[i]);
    CU_ASSERT_TRUE(race->terms[i] > (i > 0 ? race->terms[i - 1] : 0));
    ASSERT_STATUS(leads(&race->candidates[i], &term), ZKL_OK);
    ASSERT_NUMBER(term, race->terms[i]);
    WAIT_UNTIL(sees(&race->observation, race->terms[i], names[i]));
    ASSERT_NUMBER(last_sight(&race->observation).session_id, race->candidates[i].session_id);
    for (int later = i + 1; later < CANDIDATES; later++) {
        CU_ASSERT_FALSE(process_has_answered(&race->candidates[later]));
    }
}

static void race_end(struct race *race) {
    for (int i = 0; i < CANDIDATES; i++) {
        process_end(&race->candidates[i]);
    }
    observation_end(&race->observation);
    client_close(race->client);
    scene_end(&race->scene);
}

static void leaders_that_are_killed_or_resign_are_followed_in_order(void) {
    struct race race;
    race_begin(&race, "leaders");
    assert_leads(&race, 0);
    process_signal(&race.candidates[0], SIGKILL);
    assert_leads(&race, 1);
    WAIT_UNTIL(how_often_told(&race.candidates[1], "elected") == 1); /* before it resigns */
    process_tell(&race.candidates[1], "resign\n");
    ASSERT_STATUS(process_answer(&race.candidates[1]), ZKL_OK);
    ASSERT_STATUS(leads(&race.candidates[1], &(int64_t){ 0 }), ZKL_NOT_HELD);
    assert_leads(&race, 2);
    ASSERT_NUMBER(how_often_told(&race.candidates[1], "elected"), 1);
    ASSERT_NUMBER(how_often_told(&race.candidates[1], "lost"), 0);
    process_tell(&race.candidates[2], "resign\n");
    ASSERT_STATUS(process_answer(&race.candidates[2]), ZKL_OK);
    WAIT_UNTIL(sees(&race.observation, 0, ""));
    assert_was_told_in_order(&race.observation, race.terms, CANDIDATES);
    race_end(&race);
}

/* When it goes on it believes that it leads until it hears of its loss, once. */
static void leader_that_is_stopped_past_its_session_has_lost_when_it_goes_on(void) {
    struct race race;
    int64_t term = 0;
    race_begin(&race, "stopped");
    assert_leads(&race, 0);
    process_signal(&race.candidates[0], SIGSTOP);
    assert_leads(&race, 1);
    process_signal(&race.candidates[0], SIGCONT);
    WAIT_UNTIL(leads(&race.candidates[0], &term) == ZKL_LOST);
    ASSERT_NUMBER(term, race.terms[0]);
    WAIT_UNTIL(how_often_told(&race.candidates[0], "lost") == 1);
    STAYS(how_often_told(&race.candidates[0], "lost") == 1, QUIET_MS);
    ASSERT_NUMBER(how_often_told(&race.candidates[0], "elected"), 1);
    process_tell(&race.candidates[0], "resign\n");
    ASSERT_STATUS(process_answer(&race.candidates[0]), ZKL_LOST);
    ASSERT_STATUS(leads(&race.candidates[1], &term), ZKL_OK);
    process_tell(&race.candidates[1], "resign\n");
    ASSERT_STATUS(process_answer(&race.candidates[1]), ZKL_OK);
    assert_leads(&race, 2);
    assert_was_told_in_order(&race.observation, race.terms, CANDIDATES);
    race_end(&race);
}

/* ---- A candidate in the test itself -----------------------------------------------------------
 */

/* Behind a proxy, with all that its callbacks are told. */
struct candidate {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_election *election;
    zkl_election *rival;
    pthread_mutex_t mutex;
    int elected;
    int lost;
    int64_t last_term; /* that either was told of */
    int last_reason;
};

static void on_elected(void *arg, int64_t term) {
    struct candidate *self = arg;
    pthread_mutex_lock(&self->mutex);
    self->elected++;
    self->last_term = term;
    pthread_mutex_unlock(&self->mutex);
}

static void on_lost(void *arg, int64_t term, int reason) {
    struct candidate *self = arg;
    pthread_mutex_lock(&self->mutex);
    self->lost++;
    self->last_term = term;
    self->last_reason = reason;
    pthread_mutex_unlock(&self->mutex);
}

static void candidate_begin(struct candidate *self, const char *stem) {
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    *self = (struct candidate){ .elected = 0 };
    pthread_mutex_init(&self->mutex, NULL);
    scene_begin(&self->scene, stem);
    self->proxy = proxy_start(0);
    self->client = client_open(proxy_hosts(self->proxy), SESSION_MS);
    self->rivals_client = client_open(servers_hosts(), LONG_SESSION_MS);
    options.elected = on_elected;
    options.lost = on_lost;
    options.arg = self;
    options.candidate = "self";
    ASSERT_STATUS(zkl_election_open(self->client, self->scene.resource, &options, &self->election),
                  ZKL_OK);
    options = (zkl_election_options)ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = "rival";
    ASSERT_STATUS(
        zkl_election_open(self->rivals_client, self->scene.resource, &options, &self->rival),
        ZKL_OK);
}

static void candidate_end(struct candidate *self) {
    zkl_election_close(self->election);
    zkl_election_close(self->rival);
    client_close(self->client);
    client_close(self->rivals_client);
    proxy_stop(self->proxy);
    pthread_mutex_destroy(&self->mutex);
    scene_end(&self->scene);
}

static bool was_told(struct candidate *self, int elected, int lost) {
    pthread_mutex_lock(&self->mutex);
    bool was = self->elected == elected && self->lost == lost;
    pthread_mutex_unlock(&self->mutex);
    return was;
}

static int64_t campaign(zkl_election *election) {
    int64_t term = 0;
    ASSERT_STATUS(zkl_election_campaign(election, PATIENCE_MS, &term), ZKL_OK);
    return term;
}

static void resign(zkl_election *election) {
    ASSERT_STATUS(zkl_election_resign(election, PATIENCE_MS), ZKL_OK);
}

static int check(const zkl_election *election) {
    return zkl_lock_check(zkl_election_lock(election), NULL);
}

static int64_t term_now(const zkl_election *election) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(zkl_election_lock(election), &now), ZKL_OK);
    return now.token;
}

/* The rival leads meanwhile; the loss is told once, and a second term is another. */
static void assert_lost_once_and_lead_again(struct candidate *self, int64_t term, int reason) {
    int64_t rivals = campaign(self->rival);
    CU_ASSERT_TRUE(rivals > term);
    WAIT_UNTIL(was_told(self, 1, 1));
    ASSERT_STATUS(self->last_reason, reason);
    ASSERT_NUMBER(self->last_term, term);
    ASSERT_STATUS(check(self->election), ZKL_LOST);
    ASSERT_NUMBER(term_now(self->election), term);
    ASSERT_STATUS(zkl_election_campaign(self->election, PATIENCE_MS, NULL), ZKL_ALREADY_HELD);
    ASSERT_STATUS(zkl_election_resign(self->election, PATIENCE_MS), ZKL_LOST);
    STAYS(was_told(self, 1, 1), QUIET_MS);
    ASSERT_STATUS(zkl_election_campaign(self->election, 0, NULL), ZKL_BUSY);
    resign(self->rival);
    int64_t second = campaign(self->election);
    CU_ASSERT_TRUE(second > rivals);
    WAIT_UNTIL(was_told(self, 2, 1));
    resign(self->election);
    STAYS(was_told(self, 2, 1), QUIET_MS);
}

static void leader_whose_session_was_ended_is_told_once_and_can_lead_again(void) {
    struct candidate self;
    candidate_begin(&self, "expired");
    int64_t term = campaign(self.election);
    WAIT_UNTIL(was_told(&self, 1, 0));
    clientid_t session = proxy_session(self.proxy);
    raw_expire(servers_hosts(), &session);
    assert_lost_once_and_lead_again(&self, term, ZKL_SESSION_EXPIRED);
    ASSERT_NUMBER(client_information(self.client).sessions_expired, 1);
    candidate_end(&self);
}

static void leader_whose_node_was_deleted_by_hand_is_told_once_and_can_lead_again(void) {
    struct candidate self;
    candidate_begin(&self, "deleted");
    int64_t term = campaign(self.election);
    raw_catch_up(self.scene.raw);
    raw_delete_last_child(self.scene.raw, self.scene.path);
    assert_lost_once_and_lead_again(&self, term, ZKL_NODE_DELETED);
    candidate_end(&self);
}

static bool is_back(const zkl_election *election) {
    return check(election) == ZKL_OK;
}

/* A lost connection is no loss, and nobody is told of it. */
static void leader_keeps_its_term_while_servers_die_and_come_back(void) {
    struct candidate self;
    candidate_begin(&self, "servers");
    int64_t term = campaign(self.election);
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_kill(leader);
    WAIT_UNTIL(servers_epoch() > epoch);
    WAIT_UNTIL(is_back(self.election));
    ASSERT_STATUS(zkl_lock_verify(zkl_election_lock(self.election), PATIENCE_MS), ZKL_OK);
    server_start(leader);
    ASSERT_STATUS(check(self.election), ZKL_OK);
    ASSERT_NUMBER(term_now(self.election), term);
    /* The rival's client may find another server later than the leader's. */
    WAIT_UNTIL(zkl_election_campaign(self.rival, 0, NULL) == ZKL_BUSY);
    ASSERT_STATUS(check(self.election), ZKL_OK);
    CU_ASSERT_TRUE(was_told(&self, 1, 0));
    resign(self.election);
    CU_ASSERT_TRUE(campaign(self.rival) > term);
    candidate_end(&self);
}

/* ---- Observers
 * ----------------------------------------------------------------------------------- */

/* A request of its client meets the cut: while somebody leads the observer itself sends none. */
static void cut_the_observer_off(struct candidate *self) {
    const struct proxy_plan plan = { { { PROXY_REQUEST_LOST, 1 } }, 1, true };
    proxy_set_plan(self->proxy, &plan);
    CU_ASSERT_NOT_EQUAL(zkl_election_campaign(self->election, 0, NULL), ZKL_OK);
    WAIT_UNTIL(!client_information(self->client).connected);
}

static void observer_that_was_cut_off_is_told_the_last_leader_and_goes_on(void) {
    struct candidate self;
    struct observation observation;
    candidate_begin(&self, "cut-off");
    observe(&observation, self.client, self.scene.resource);
    WAIT_UNTIL(sees(&observation, 0, ""));
    int64_t first = campaign(self.rival);
    WAIT_UNTIL(sees(&observation, first, "rival"));
    cut_the_observer_off(&self);
    int before = sights(&observation);
    resign(self.rival);
    CU_ASSERT_TRUE(campaign(self.rival) > first);
    resign(self.rival);
    int64_t third = campaign(self.rival);
    STAYS(sights(&observation) == before, QUIET_MS);
    (void)proxy_end_plan(self.proxy);
    WAIT_UNTIL(sees(&observation, third, "rival"));
    ASSERT_NUMBER(client_information(self.client).sessions_expired, 0);
    resign(self.rival);
    int64_t fourth = campaign(self.rival);
    WAIT_UNTIL(sees(&observation, fourth, "rival"));
    assert_was_told_in_order(&observation, (int64_t[]){ first, third, fourth }, 3);
    observation_end(&observation);
    candidate_end(&self);
}

static void observer_that_was_cut_off_is_not_told_again_what_has_not_changed(void) {
    struct candidate self;
    struct observation observation;
    candidate_begin(&self, "unchanged");
    int64_t term = campaign(self.rival);
    observe(&observation, self.client, self.scene.resource);
    WAIT_UNTIL(sees(&observation, term, "rival"));
    int before = sights(&observation); /* 2 where its server had not seen the leader yet */
    cut_the_observer_off(&self);
    (void)proxy_end_plan(self.proxy);
    WAIT_UNTIL(client_information(self.client).connected);
    STAYS(sights(&observation) == before, QUIET_MS);
    resign(self.rival);
    WAIT_UNTIL(sees(&observation, 0, ""));
    observation_end(&observation);
    candidate_end(&self);
}

/* The end of its session is the leader's as well, where both are of one client. */
static void observer_whose_session_was_ended_follows_in_the_next(void) {
    struct candidate self;
    struct observation observation;
    candidate_begin(&self, "next-session");
    observe(&observation, self.client, self.scene.resource);
    int64_t first = campaign(self.election);
    WAIT_UNTIL(sees(&observation, first, "self"));
    clientid_t session = proxy_session(self.proxy);
    raw_expire(servers_hosts(), &session);
    int64_t second = campaign(self.rival);
    WAIT_UNTIL(sees(&observation, second, "rival"));
    ASSERT_NUMBER(client_information(self.client).sessions_expired, 1);
    ASSERT_STATUS(zkl_election_resign(self.election, PATIENCE_MS), ZKL_LOST);
    resign(self.rival);
    int64_t third = campaign(self.election);
    WAIT_UNTIL(sees(&observation, third, "self"));
    assert_was_told_in_order(&observation, (int64_t[]){ first, second, third }, 3);
    observation_end(&observation);
    candidate_end(&self);
}

/* ---- Late questions, and many who look on -------------------------------------------------- */

static bool is_readable(int descriptor) {
    struct pollfd one = { .fd = descriptor, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void on_asked(void *arg, int64_t term) {
    int *asked = arg;
    (void)term;
    ++*asked;
}

/* Its server may lag behind the leader's. */
static bool finds_one(zkl_client *client, const char *resource, char node[ZKL_NODE_PATH_SIZE]) {
    zkl_queue *queue = NULL;
    ASSERT_STATUS(zkl_queue_describe(client, resource, PATIENCE_MS, &queue), ZKL_OK);
    const zkl_contender *first = queue->contenders[0];
    snprintf(node, ZKL_NODE_PATH_SIZE, "%s", first != NULL ? first->node : "");
    zkl_report_free(queue);
    return node[0] != '\0';
}

static void ask_to_resign(zkl_client *client, const char *resource) {
    char node[ZKL_NODE_PATH_SIZE];
    WAIT_UNTIL(finds_one(client, resource, node));
    ASSERT_STATUS(zkl_node_revoke(client, resource, node, PATIENCE_MS), ZKL_OK);
}

/* The question waits for the loop of the application when that resigns. */
static void leader_that_has_resigned_is_not_asked_to(void) {
    struct scene scene;
    zkl_client *client = NULL;
    zkl_election *election = NULL;
    int asked = 0;
    int descriptor = -1;
    scene_begin(&scene, "late-question");
    zkl_client *clerk = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.dispatch = ZKL_DISPATCH_CALLER;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    ASSERT_STATUS(zkl_client_event_descriptor(client, &descriptor), ZKL_OK);
    zkl_election_options its = ZKL_ELECTION_OPTIONS_INIT;
    its.resignation_asked = on_asked;
    its.arg = &asked;
    ASSERT_STATUS(zkl_election_open(client, scene.resource, &its, &election), ZKL_OK);
    for (int is_late = 0; is_late <= 1; is_late++) {
        (void)campaign(election);
        ASSERT_STATUS(zkl_client_dispatch(client, NULL), ZKL_OK); /* elected */
        ask_to_resign(clerk, scene.resource);
        WAIT_UNTIL(is_readable(descriptor));
        if (is_late) {
            resign(election);
        }
        ASSERT_STATUS(zkl_client_dispatch(client, NULL), ZKL_OK);
        ASSERT_NUMBER(asked, 1);
        if (!is_late) {
            resign(election);
        }
    }
    zkl_election_close(election);
    client_close(client);
    client_close(clerk);
    scene_end(&scene);
}

enum { ONLOOKERS = 300 };

struct onlooker {
    zkl_observer *observer;
    atomic_llong term;
};

static void on_their_leader(void *arg, const zkl_leader *leader) {
    struct onlooker *onlooker = arg;
    atomic_store(&onlooker->term, (long long)leader->term);
}

static int count_who_see(struct onlooker *onlookers, int64_t term) {
    int count = 0;
    for (int i = 0; i < ONLOOKERS; i++) {
        count += atomic_load(&onlookers[i].term) == term;
    }
    return count;
}

/* While nobody leads each of them pauses, and asks again. */
static void hundreds_of_observers_of_one_client_are_told(void) {
    static struct onlooker onlookers[ONLOOKERS];
    struct candidate self;
    candidate_begin(&self, "onlookers");
    for (int i = 0; i < ONLOOKERS; i++) {
        atomic_store(&onlookers[i].term, -1);
        ASSERT_STATUS(zkl_election_observe(self.rivals_client, self.scene.resource, on_their_leader,
                                           &onlookers[i], &onlookers[i].observer),
                      ZKL_OK);
    }
    WAIT_UNTIL(count_who_see(onlookers, 0) == ONLOOKERS);
    int64_t term = campaign(self.election);
    WAIT_UNTIL(count_who_see(onlookers, term) == ONLOOKERS);
    resign(self.election);
    WAIT_UNTIL(count_who_see(onlookers, 0) == ONLOOKERS);
    for (int i = 0; i < ONLOOKERS; i++) {
        zkl_observer_close(onlookers[i].observer);
    }
    candidate_end(&self);
}

/* The time until the next request; the session's own are rare. */
static int64_t wait_for_a_request(struct proxy *proxy) {
    int before = proxy_requests(proxy);
    int64_t began_ms = now_ms();
    WAIT_UNTIL(proxy_requests(proxy) > before);
    return now_ms() - began_ms;
}

/* Those that lost one leader together would else ask for the next one together, for ever. */
static void observer_pauses_for_another_time_before_each_look(void) {
    enum { LOOKS = 12 };
    const struct proxy_plan none = { .count = 0 };
    struct scene scene;
    struct observation observation;
    int64_t shortest_ms = PATIENCE_MS;
    int64_t longest_ms = 0;
    scene_begin(&scene, "pauses");
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = client_open(proxy_hosts(proxy), 3 * LONG_SESSION_MS);
    observe(&observation, client, scene.resource);
    WAIT_UNTIL(sights(&observation) == 1);
    proxy_set_plan(proxy, &none);
    (void)wait_for_a_request(proxy);
    for (int i = 0; i < LOOKS; i++) {
        int64_t pause_ms = wait_for_a_request(proxy);
        shortest_ms = pause_ms < shortest_ms ? pause_ms : shortest_ms;
        longest_ms = pause_ms > longest_ms ? pause_ms : longest_ms;
    }
    CU_ASSERT_TRUE(longest_ms - shortest_ms > ZKL_LEADER_PAUSE_MS / 10);
    CU_ASSERT_TRUE(shortest_ms < ZKL_LEADER_PAUSE_MS - ZKL_LEADER_PAUSE_MS / 10);
    observation_end(&observation);
    client_close(client);
    proxy_stop(proxy);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(leaders_that_are_killed_or_resign_are_followed_in_order),
        TEST_CASE(leader_that_is_stopped_past_its_session_has_lost_when_it_goes_on),
        TEST_CASE(leader_whose_session_was_ended_is_told_once_and_can_lead_again),
        TEST_CASE(leader_whose_node_was_deleted_by_hand_is_told_once_and_can_lead_again),
        TEST_CASE(leader_keeps_its_term_while_servers_die_and_come_back),
        TEST_CASE(observer_that_was_cut_off_is_told_the_last_leader_and_goes_on),
        TEST_CASE(observer_that_was_cut_off_is_not_told_again_what_has_not_changed),
        TEST_CASE(observer_whose_session_was_ended_follows_in_the_next),
        TEST_CASE(leader_that_has_resigned_is_not_asked_to),
        TEST_CASE(hundreds_of_observers_of_one_client_are_told),
        TEST_CASE(observer_pauses_for_another_time_before_each_look),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
