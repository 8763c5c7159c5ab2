/* Threads and condition variables. A hang is caught by the suite's timeout. */
#include "base/threads.h"

#include "support/unit.h"

typedef struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool there;
} meeting;

static void begin(meeting *place) {
    pthread_mutex_init(&place->mutex, NULL);
    zkl_condition_begin(&place->condition);
    place->there = false;
}

static void end(meeting *place) {
    pthread_cond_destroy(&place->condition);
    pthread_mutex_destroy(&place->mutex);
}

static void *come(void *arg) {
    meeting *place = arg;
    pthread_mutex_lock(&place->mutex);
    place->there = true;
    pthread_cond_signal(&place->condition);
    pthread_mutex_unlock(&place->mutex);
    return NULL;
}

TEST(wait_ends_with_the_signal) {
    static const int64_t waits[] = { INT64_MAX, 3600000 };
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        meeting place;
        pthread_t thread;
        begin(&place);
        pthread_mutex_lock(&place.mutex);
        EXPECT(zkl_thread_start(&thread, come, &place));
        while (!place.there) {
            zkl_condition_wait(&place.condition, &place.mutex, waits[i]);
        }
        pthread_mutex_unlock(&place.mutex);
        pthread_join(thread, NULL);
        end(&place);
    }
}

TEST(wait_ends_by_itself_after_its_time) {
    meeting place;
    begin(&place);
    pthread_mutex_lock(&place.mutex);
    int64_t start = zkl_clock_ms();
    unsigned rounds = 0;
    while (zkl_clock_ms() - start < 20) {
        zkl_condition_wait(&place.condition, &place.mutex, 20 - (zkl_clock_ms() - start));
        rounds++;
    }
    pthread_mutex_unlock(&place.mutex);
    EXPECT(rounds < 1000); /* it waits, and does not spin */
    end(&place);
}

TEST(wait_for_no_time_returns_at_once) {
    static const int64_t waits[] = { 0, -1, INT64_MIN };
    meeting place;
    begin(&place);
    pthread_mutex_lock(&place.mutex);
    int64_t start = zkl_clock_ms();
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        zkl_condition_wait(&place.condition, &place.mutex, waits[i]);
    }
    EXPECT(zkl_clock_ms() - start < 1500); /* a wait that was taken for long lasts 2 s */
    pthread_mutex_unlock(&place.mutex);
    end(&place);
}
