/* The heap of timers. */
#include "session/timers.h"

#include "support/unit.h"

enum { MANY = 200 };

typedef struct probe {
    zkl_timer timer;
    zkl_timers *timers;
    struct probe *stops;   /* what this one does when it fires */
    int64_t sets_again_at; /* 0: not */
    unsigned fired;
    unsigned turn; /* when it fired, among all */
    unsigned *turns;
} probe;

static void fire(void *arg) {
    probe *self = arg;
    self->fired++;
    self->turn = ++*self->turns;
    EXPECT(self->timer.timers == NULL); /* a timer is stopped before it fires */
    if (self->stops != NULL) {
        zkl_timer_stop(&self->stops->timer);
    }
    if (self->sets_again_at != 0) {
        int64_t again = self->sets_again_at;
        self->sets_again_at = 0;
        zkl_timers_set(self->timers, &self->timer, again);
    }
}

static void begin(probe *probes, size_t count, zkl_timers *timers, unsigned *turns) {
    for (size_t i = 0; i < count; i++) {
        probes[i] = (probe){ .timers = timers, .turns = turns };
        probes[i].timer = (zkl_timer){ .fire = fire, .arg = &probes[i] };
    }
}

/* The earliest of those that are set, by looking at each. */
static int64_t earliest(const probe *probes, size_t count) {
    int64_t result = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (probes[i].timer.timers != NULL && probes[i].timer.deadline_ms < result) {
            result = probes[i].timer.deadline_ms;
        }
    }
    return result;
}

TEST(timer_may_stop_another_and_set_itself_as_it_fires) {
    zkl_timers timers = { 0 };
    probe probes[3];
    unsigned turns = 0;
    begin(probes, 3, &timers, &turns);
    probes[0].stops = &probes[1];
    probes[0].sets_again_at = 500;
    for (size_t i = 0; i < 3; i++) {
        zkl_timers_set(&timers, &probes[i].timer, 10 * (int64_t)(i + 1));
    }
    zkl_timers_fire_due(&timers, 100);
    EXPECT_INT(probes[0].fired, 1);
    EXPECT_INT(probes[1].fired, 0);
    EXPECT_INT(probes[2].fired, 1);
    EXPECT_INT(zkl_timers_next(&timers), 500);
}

TEST(timers_of_one_moment_fire_in_the_order_in_which_they_were_set) {
    zkl_timers timers = { 0 };
    probe probes[MANY];
    unsigned turns = 0;
    begin(probes, MANY, &timers, &turns);
    for (size_t i = 0; i < MANY; i++) {
        zkl_timers_set(&timers, &probes[i].timer, 10);
    }
    zkl_timer_stop(&probes[0].timer);
    zkl_timers_set(&timers, &probes[0].timer, 10); /* it was set anew */
    zkl_timers_fire_due(&timers, 10);
    for (size_t i = 1; i < MANY; i++) {
        EXPECT_INT(probes[i].turn, i);
    }
    EXPECT_INT(probes[0].turn, MANY);
}

static void count_wake(void *arg) {
    unsigned *wakes = arg;
    (*wakes)++;
}

TEST(driver_is_woken_only_for_a_deadline_before_all_others) {
    unsigned wakes = 0;
    zkl_timers timers = { .wake = count_wake, .arg = &wakes };
    probe probes[2];
    unsigned turns = 0;
    begin(probes, 2, &timers, &turns);
    zkl_timers_set(&timers, &probes[0].timer, 20);
    EXPECT_INT(wakes, 1);
    zkl_timers_set(&timers, &probes[1].timer, 30);
    zkl_timers_set(&timers, &probes[0].timer, 20);
    EXPECT_INT(wakes, 1);
    zkl_timers_set(&timers, &probes[1].timer, 10);
    EXPECT_INT(wakes, 2);
    zkl_timer_stop(&probes[1].timer);
    EXPECT_INT(wakes, 2);
}

static void walk(uint64_t seed) {
    unit_random random = unit_random_begin(seed);
    zkl_timers timers = { 0 };
    static probe probes[MANY];
    unsigned turns = 0;
    begin(probes, MANY, &timers, &turns);
    int64_t now = 0;
    for (unsigned step = 0; step < 2000; step++) {
        probe *chosen = &probes[unit_random_below(&random, MANY)];
        unsigned dice = unit_random_below(&random, 10);
        if (dice < 6) {
            zkl_timers_set(&timers, &chosen->timer, now + unit_random_below(&random, 100));
        } else if (dice < 9) {
            zkl_timer_stop(&chosen->timer);
        } else {
            now += unit_random_below(&random, 30);
            zkl_timers_fire_due(&timers, now);
            EXPECT(earliest(probes, MANY) > now);
        }
        EXPECT_INT(zkl_timers_next(&timers), earliest(probes, MANY));
    }
}

TEST(random_walks_always_know_the_earliest) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        walk(seed);
    }
}
