/*
 * The lease: what earns it, what does not, and when it ends. Times are small
 * numbers of milliseconds on one clock; most tests are of a session of 9,000 ms,
 * which is probed every 3,000 ms, on servers with a tick of 1,000 ms.
 */
#include "recipe/lease.h"

#include "support/unit.h"

enum { TICK_MS = 1000, TIMEOUT_MS = 9000, PERIOD_MS = 3000, MARGIN_MS = 3000 + 9 };
enum { BEGUN_MS = 100000, FIRST_END_MS = BEGUN_MS + TIMEOUT_MS - MARGIN_MS };

/* A session whose lease is still the one that it began with. */
static zkl_lease begin_session(void) {
    zkl_lease lease;
    zkl_lease_begin(&lease, TICK_MS);
    zkl_lease_new_session(&lease, TIMEOUT_MS, BEGUN_MS);
    return lease;
}

static bool probe(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms) {
    return zkl_lease_answered(lease, sent_ms, answered_ms, false);
}

static bool write(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms) {
    return zkl_lease_answered(lease, sent_ms, answered_ms, true);
}

/* The chain of a probe and two writes, as short as it can be. */
static void expect_chain_earns(zkl_lease *lease, int64_t probe_sent_ms) {
    EXPECT(!probe(lease, probe_sent_ms, probe_sent_ms + 5));
    EXPECT(!write(lease, probe_sent_ms + 5 + TICK_MS + 1, probe_sent_ms + TICK_MS + 20));
    EXPECT(write(lease, probe_sent_ms + TICK_MS + 21, probe_sent_ms + TICK_MS + 30));
    EXPECT_INT(lease->ends_ms, probe_sent_ms + TIMEOUT_MS - MARGIN_MS);
}

/* ---- The beginning -------------------------------------------------------------- */

TEST(session_is_probed_three_times_in_its_timeout) {
    EXPECT_INT(zkl_lease_probe_period(10000), 3333);
    EXPECT_INT(zkl_lease_probe_period(2), 1);
    EXPECT_INT(zkl_lease_probe_period(0), 1); /* before there is a session */
}

TEST(new_session_has_a_lease_from_when_it_was_asked_for) {
    zkl_lease lease = begin_session();
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
    EXPECT(zkl_lease_runs(&lease, BEGUN_MS));
    EXPECT(zkl_lease_runs(&lease, FIRST_END_MS - 1));
    EXPECT(!zkl_lease_runs(&lease, FIRST_END_MS));
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX);
}

/* Even if the last one was to last longer. */
TEST(new_session_has_nothing_of_the_last_one) {
    zkl_lease lease = begin_session();
    expect_chain_earns(&lease, BEGUN_MS + 1000);
    zkl_lease_probe_due(&lease, BEGUN_MS + 5000);
    probe(&lease, BEGUN_MS + 5000, BEGUN_MS + 5005);
    zkl_lease_new_session(&lease, 6000, BEGUN_MS + 100);
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 100 + 6000 - 2000 - 6);
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX);
    EXPECT(!write(&lease, BEGUN_MS + 9000, BEGUN_MS + 9001)); /* a probe, and no more */
    EXPECT(!write(&lease, BEGUN_MS + 9002, BEGUN_MS + 9003));
}

/* ---- What earns it ----------------------------------------------------------------- */

TEST(probe_and_two_writes_earn_a_lease_from_the_probe_on) {
    zkl_lease lease = begin_session();
    expect_chain_earns(&lease, BEGUN_MS + 1000);
    EXPECT(zkl_lease_runs(&lease, BEGUN_MS + 1000 + TIMEOUT_MS - MARGIN_MS - 1));
    EXPECT(!zkl_lease_runs(&lease, BEGUN_MS + 1000 + TIMEOUT_MS - MARGIN_MS));
}

/* The margin is a period and the thousandth by which clocks may differ. */
TEST(margin_grows_with_the_timeout) {
    zkl_lease lease;
    zkl_lease_begin(&lease, TICK_MS);
    zkl_lease_new_session(&lease, 40000, BEGUN_MS);
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 40000 - 13333 - 40);
    EXPECT(!probe(&lease, BEGUN_MS + 2000, BEGUN_MS + 2005));
    EXPECT(!write(&lease, BEGUN_MS + 3006, BEGUN_MS + 3010));
    EXPECT(write(&lease, BEGUN_MS + 3011, BEGUN_MS + 3020));
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 2000 + 40000 - 13333 - 40);
}

TEST(what_comes_between_does_no_harm) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    EXPECT(!probe(&lease, BEGUN_MS + 1500, BEGUN_MS + 1505));
    EXPECT(!write(&lease, BEGUN_MS + 1600, BEGUN_MS + 1605)); /* too early */
    EXPECT(!write(&lease, BEGUN_MS + 2006, BEGUN_MS + 2010));
    EXPECT(!probe(&lease, BEGUN_MS + 2100, BEGUN_MS + 2105));
    EXPECT(write(&lease, BEGUN_MS + 2200, BEGUN_MS + 2205));
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 1000 + TIMEOUT_MS - MARGIN_MS);
}

/* ---- What does not ------------------------------------------------------------------ */

/* The servers have a tick to send a ping after the probe. */
TEST(first_write_less_than_a_tick_after_the_probe_earns_nothing) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1200));
    EXPECT(!write(&lease, BEGUN_MS + 1200 + TICK_MS, BEGUN_MS + 2300)); /* not more than a tick */
    EXPECT(!write(&lease, BEGUN_MS + 2301, BEGUN_MS + 2310));           /* so this is the first */
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
    EXPECT(write(&lease, BEGUN_MS + 2311, BEGUN_MS + 2320));
}

/* Counted from the answer: only then has the server noted the probe for sure. */
TEST(tick_is_counted_from_the_answer_to_the_probe) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 4000));
    EXPECT(!write(&lease, BEGUN_MS + 4500, BEGUN_MS + 4505));
    EXPECT(!write(&lease, BEGUN_MS + 4600, BEGUN_MS + 4605));
    EXPECT(!write(&lease, BEGUN_MS + 4700, BEGUN_MS + 4705));
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
}

/* That it was answered later does not make it a later write. */
TEST(write_that_was_sent_early_and_answered_late_earns_nothing) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    EXPECT(!write(&lease, BEGUN_MS + 1100, BEGUN_MS + 3000));
    EXPECT(!write(&lease, BEGUN_MS + 3001, BEGUN_MS + 3005));
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
}

TEST(second_write_sent_before_the_answer_to_the_first_earns_nothing) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    EXPECT(!write(&lease, BEGUN_MS + 2100, BEGUN_MS + 2200));
    EXPECT(!write(&lease, BEGUN_MS + 2150, BEGUN_MS + 2250));
    EXPECT(!write(&lease, BEGUN_MS + 2200, BEGUN_MS + 2260)); /* in the same millisecond */
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
    EXPECT(write(&lease, BEGUN_MS + 2201, BEGUN_MS + 2270));
}

TEST(one_write_in_a_connection_earns_nothing) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    EXPECT(!write(&lease, BEGUN_MS + 2100, BEGUN_MS + 2105));
    zkl_lease_gather_anew(&lease);
    EXPECT(!write(&lease, BEGUN_MS + 2200, BEGUN_MS + 2205)); /* a probe of the next */
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
    EXPECT(!write(&lease, BEGUN_MS + 3206, BEGUN_MS + 3210));
    EXPECT(write(&lease, BEGUN_MS + 3211, BEGUN_MS + 3215));
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 2200 + TIMEOUT_MS - MARGIN_MS);
}

TEST(probe_of_the_last_connection_proves_nothing) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    zkl_lease_gather_anew(&lease);
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX);
    EXPECT(!write(&lease, BEGUN_MS + 2100, BEGUN_MS + 2105));
    EXPECT(!write(&lease, BEGUN_MS + 2200, BEGUN_MS + 2205));
    EXPECT_INT(lease.ends_ms, FIRST_END_MS);
}

TEST(what_was_earned_stands_over_a_new_connection) {
    zkl_lease lease = begin_session();
    expect_chain_earns(&lease, BEGUN_MS + 1000);
    int64_t earned = lease.ends_ms;
    zkl_lease_gather_anew(&lease);
    EXPECT_INT(lease.ends_ms, earned);
    EXPECT(zkl_lease_runs(&lease, earned - 1));
    expect_chain_earns(&lease, BEGUN_MS + 2100); /* a period need not have passed */
}

/* ---- How often ----------------------------------------------------------------------- */

/* One proof in each period, which begins with its probe: one that began with other traffic would
 * have to last until the probe after the next. */
TEST(traffic_between_two_probes_begins_no_proof) {
    zkl_lease lease = begin_session();
    expect_chain_earns(&lease, BEGUN_MS + 1000);
    int64_t earned = lease.ends_ms;
    EXPECT(!probe(&lease, BEGUN_MS + 2600, BEGUN_MS + 2605));
    EXPECT(!write(&lease, BEGUN_MS + 3700, BEGUN_MS + 3705));
    EXPECT(!write(&lease, BEGUN_MS + 3800, BEGUN_MS + 3805));
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX);
    EXPECT_INT(lease.ends_ms, earned);
    zkl_lease_probe_due(&lease, BEGUN_MS + 4000);
    EXPECT(!probe(&lease, BEGUN_MS + 3999, BEGUN_MS + 4001)); /* sent before */
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX);
    expect_chain_earns(&lease, BEGUN_MS + 4000);
}

/* Even if that began just before. */
TEST(probe_that_is_due_while_a_proof_is_under_way_begins_the_next) {
    zkl_lease lease = begin_session();
    EXPECT(!probe(&lease, BEGUN_MS + 1000, BEGUN_MS + 1005));
    EXPECT(!probe(&lease, BEGUN_MS + 1001, BEGUN_MS + 1006)); /* other traffic */
    zkl_lease_probe_due(&lease, BEGUN_MS + 1002);
    EXPECT(!probe(&lease, BEGUN_MS + 1002, BEGUN_MS + 1007));
    EXPECT(!write(&lease, BEGUN_MS + 2006, BEGUN_MS + 2010));
    EXPECT(write(&lease, BEGUN_MS + 2011, BEGUN_MS + 2020));
    EXPECT_INT(lease.stage, ZKL_LEASE_PROBED);
    EXPECT_INT(lease.probe.sent_ms, BEGUN_MS + 1002);
    EXPECT(!write(&lease, BEGUN_MS + 2021, BEGUN_MS + 2025));
    EXPECT(write(&lease, BEGUN_MS + 2026, BEGUN_MS + 2030));
    EXPECT_INT(zkl_lease_write_due(&lease), INT64_MAX); /* both were heeded */
    EXPECT(!probe(&lease, BEGUN_MS + 2600, BEGUN_MS + 2605));
    EXPECT_INT(lease.stage, ZKL_LEASE_NOTHING);
}

/* ---- Another timeout ------------------------------------------------------------------ */

TEST(shorter_timeout_caps_what_was_earned_from_when_the_connection_was_lost) {
    zkl_lease lease = begin_session();
    zkl_lease_timeout_changed(&lease, 3000, BEGUN_MS + 2000);
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 2000 + 3000 - 1000 - 3);
    zkl_lease_gather_anew(&lease);
    EXPECT(!probe(&lease, BEGUN_MS + 2100, BEGUN_MS + 2101));
    EXPECT(!write(&lease, BEGUN_MS + 3102, BEGUN_MS + 3103));
    EXPECT(write(&lease, BEGUN_MS + 3104, BEGUN_MS + 3105));
    EXPECT_INT(lease.ends_ms, BEGUN_MS + 2100 + 3000 - 1000 - 3);
}

TEST(other_timeout_is_no_lease_where_there_was_none) {
    zkl_lease lease;
    zkl_lease_begin(&lease, TICK_MS);
    zkl_lease_timeout_changed(&lease, TIMEOUT_MS, BEGUN_MS);
    EXPECT(!zkl_lease_runs(&lease, BEGUN_MS));
}

/* ---- Whether it is long enough ----------------------------------------------------------- */

/* Without a probe yet: the next request is one, its writes come a tick and some patience later. */
TEST(lease_is_ample_as_long_as_it_will_be_extended_before_it_ends) {
    zkl_lease lease = begin_session();
    int64_t patience = PERIOD_MS / 16 + 1;
    int64_t last = FIRST_END_MS - TICK_MS - 2 * patience - 1;
    EXPECT(zkl_lease_is_ample(&lease, BEGUN_MS));
    EXPECT(zkl_lease_is_ample(&lease, last));
    EXPECT(!zkl_lease_is_ample(&lease, last + 1));
    EXPECT(!zkl_lease_is_ample(&lease, FIRST_END_MS));
}

/* Found by the simulation, seed 1068042: a client that is in touch but has no work for the writes
 * acquires late in its first lease, by a proof that was begun at its start. */
TEST(proof_that_was_begun_long_ago_is_not_enough_for_a_grant) {
    zkl_lease lease;
    zkl_lease_begin(&lease, 100);
    zkl_lease_new_session(&lease, 1100, 0);
    EXPECT(!probe(&lease, 14, 15));
    EXPECT(zkl_lease_is_ample(&lease, 100)); /* while its writes are not late */
    EXPECT(!write(&lease, 685, 686));
    EXPECT(!probe(&lease, 685, 687));
    EXPECT_INT(lease.ends_ms, 733);
    EXPECT(!zkl_lease_is_ample(&lease, 687));
    EXPECT(write(&lease, 687, 689));
    EXPECT_INT(lease.ends_ms, 747);
    EXPECT(!zkl_lease_is_ample(&lease, 689));
    EXPECT(!write(&lease, 811, 812));
    EXPECT(write(&lease, 813, 814));
    EXPECT_INT(lease.ends_ms, 685 + 733);
    EXPECT(zkl_lease_is_ample(&lease, 814));
}

/* Whoever sends what is due when it is due has the lease extended in each period. */
TEST(writes_that_are_sent_when_they_are_due_keep_the_lease) {
    zkl_lease lease = begin_session();
    for (int64_t sent = BEGUN_MS + 100; sent < BEGUN_MS + 100000; sent += PERIOD_MS) {
        EXPECT(zkl_lease_runs(&lease, sent));
        zkl_lease_probe_due(&lease, sent);
        EXPECT(!probe(&lease, sent, sent + 10));
        int64_t first = zkl_lease_write_due(&lease);
        EXPECT(!write(&lease, first, first + 10));
        int64_t second = zkl_lease_write_due(&lease);
        EXPECT(zkl_lease_runs(&lease, second + 10));
        EXPECT(write(&lease, second, second + 10));
        EXPECT(second + 10 < sent + PERIOD_MS);
    }
}
