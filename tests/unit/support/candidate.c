#include "support/candidate.h"

#include <stdio.h>
#include <string.h>

static void note(candidate *self, const char *text) {
    size_t used = strlen(self->heard);
    snprintf(self->heard + used, sizeof(self->heard) - used, "%s ", text);
    if (self->react != NULL) {
        self->react(self);
    }
}

static void on_elected(void *arg, int64_t term) {
    candidate *self = arg;
    self->term = term;
    note(self, "elected");
}

static void on_lost(void *arg, int64_t term, int reason) {
    candidate *self = arg;
    char text[32];
    snprintf(text, sizeof(text), "lost(%d)", reason);
    self->lost_term = term;
    note(self, text);
}

static void on_resignation_asked(void *arg, int64_t term) {
    candidate *self = arg;
    EXPECT_INT(term, self->term);
    note(self, "asked");
}

static void on_campaign_ended(void *arg, int status, int64_t term) {
    candidate *self = arg;
    char text[32];
    snprintf(text, sizeof(text), "campaign(%d)", status);
    self->status = status;
    self->term = term;
    note(self, text);
}

static void on_resigned(void *arg, int status) {
    char text[32];
    snprintf(text, sizeof(text), "resigned(%d)", status);
    note(arg, text);
}

void candidate_open(candidate *self, const char *text, zkl_dispatch dispatch, bool lease) {
    *self = (candidate){ .client = NULL };
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.session_timeout_ms = CANDIDATE_TIMEOUT_MS;
    client_options.lease_tick_ms = lease ? CANDIDATE_TICK_MS : 0;
    client_options.dispatch = dispatch;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &self->client), ZKL_OK);
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = text;
    options.elected = on_elected;
    options.lost = on_lost;
    options.resignation_asked = on_resignation_asked;
    options.arg = self;
    EXPECT_INT(zkl_election_open(self->client, "service", &options, &self->election), ZKL_OK);
}

void candidate_leave(candidate *self) {
    zkl_election *election = self->election;
    self->election = NULL;
    zkl_election_close(election);
}

void candidate_close(candidate *self) {
    candidate_leave(self);
    EXPECT_INT(zkl_client_close(self->client, CANDIDATE_TIMEOUT_MS), ZKL_OK);
}

int candidate_campaign(candidate *self, int64_t timeout_ms) {
    int64_t term = -1;
    self->status = zkl_election_campaign(self->election, timeout_ms, &term);
    self->term = term;
    return self->status;
}

static void campaign(void *arg) {
    candidate *self = arg;
    (void)candidate_campaign(self, self->timeout_ms);
}

zkl_testing_task *candidate_start(candidate *self, int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    return zkl_testing_start(campaign, self);
}

void candidate_begin(candidate *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_election_campaign_async(self->election, timeout_ms, on_campaign_ended, self),
               ZKL_OK);
}

void candidate_resign(candidate *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_election_resign_async(self->election, timeout_ms, on_resigned, self), ZKL_OK);
}

int candidate_check(const candidate *self) {
    return zkl_lock_check(zkl_election_lock(self->election), NULL);
}

size_t candidate_dispatch(candidate *self) {
    size_t count = 0;
    EXPECT_INT(zkl_client_dispatch(self->client, &count), ZKL_OK);
    return count;
}
