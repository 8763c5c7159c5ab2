/* What a candidate is, and what it was told; for its own parts. */
#pragma once

#include "asker.h"
#include "testing/world.h"
#include "zklock/election.h"

enum { CANDIDATE_TERMS_MAX = 64, CANDIDATE_TEXT_SIZE = 24 };

typedef struct candidate {
    const plan_candidate *plan;
    asker asks;
    char text[CANDIDATE_TEXT_SIZE];
    zkl_client *client;
    zkl_process *process;
    const plan_turn *turn;
    zkl_election *election;
    bool has_handle; /* that is open */
    bool started;
    bool done;
    bool campaigns;
    bool closed_meanwhile; /* its handle, while its campaign waited */
    int told_status;       /* of the latest */
    bool leads;
    bool knows_of_loss;
    int64_t term;
    const node_record *node;
    int64_t office_us; /* since then it leads, */
    int64_t led_us;    /* ... or knows that it has lost */
    int64_t led_stopped_us;
    int64_t elected_term; /* the last one that each callback was told of */
    int64_t lost_term;
    int64_t resigned_term;
    int64_t resigned_us;
    int resigned_status;
    bool resigned_in_callback;
    int64_t terms[CANDIDATE_TERMS_MAX]; /* of which it was told, one way or the other */
    size_t term_count;
} candidate;

bool candidate_is_of_resource(const candidate *self, const node_record *node);
/** Its campaign was told this term. */
void candidate_takes_office(candidate *self, int64_t term);
/** The callbacks of its election. */
void candidate_on_elected(void *arg, int64_t term);
void candidate_on_lost(void *arg, int64_t term, int reason);
/** Asks whether it leads, and compares. */
void candidate_checks(candidate *self);
void candidate_resigns(candidate *self, int64_t timeout_ms);
/** After that: of a loss that was found out by the resignation, too. */
void candidate_hears_of_loss(candidate *self);

/** Another who leads for the same resource, with a node that is there; NULL: nobody does. */
const candidate *candidates_rival(const candidate *self);
