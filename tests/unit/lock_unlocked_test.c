/*
 * What a call does once it has let the client's mutex go: nothing that others may have changed
 * meanwhile. Each time that the library lets this mutex go, the test may do something before it
 * goes on, as another thread might.
 */
#include <pthread.h>
#include <string.h>

#include "client.h"
#include "support/participant.h"

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

enum { SOON_MS = 200 };

static participant self;
static const pthread_mutex_t
    *watched;                   /* of a client that is open, or closed but kept by a handle */
static void (*meanwhile)(void); /* NULL: nobody is about */

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_unlock(mutex);
    void (*act)(void) = mutex == watched ? meanwhile : NULL;
    if (act != NULL) {
        meanwhile = NULL; /* what it does lets the mutex go as well */
        act();
    }
    return result;
}

static void begin(void) {
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
    watched = &self.client->mutex;
}

/* ---- A grant ------------------------------------------------------------------------ */

/* At the end of the acquire, and not before. */
static void lose_once_held(void) {
    if (zkl_lock_check(self.lock, NULL) != ZKL_OK) {
        meanwhile = lose_once_held;
        return;
    }
    zkl_testing_expire_session(self.client);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_LOST, SOON_MS), 1);
}

static void lock_that_is_lost_as_its_acquire_returns_was_granted_as_told(void) {
    begin();
    meanwhile = lose_once_held;
    EXPECT_INT(participant_acquire(&self, PARTICIPANT_TIMEOUT_MS), ZKL_OK);
    EXPECT(meanwhile == NULL);
    EXPECT(self.grant.token > 0);
    EXPECT_INT(self.grant.mode, ZKL_EXCLUSIVE);
    EXPECT(strncmp(self.grant.node, PARTICIPANT_RESOURCE "/", strlen(PARTICIPANT_RESOURCE) + 1) ==
           0);
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_LOST);
    participant_close(&self);
    zkl_testing_end();
}

/* ---- The client's memory ------------------------------------------------------------ */

static zkl_lock *others;

static void close_others(void) {
    zkl_lock_close(others);
    others = NULL;
}

/* The handle's close lets the client's mutex go twice: when it is idle, and when it has dropped the
 * client. */
static void close_others_at_the_second(void) {
    meanwhile = close_others;
}

static void last_two_handles_of_a_closed_client_free_it_once(void) {
    begin();
    zkl_lock *mine = NULL;
    EXPECT_INT(zkl_lock_open(self.client, "one", NULL, &mine), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self.client, "another", NULL, &others), ZKL_OK);
    participant_close(&self);
    meanwhile = close_others_at_the_second;
    zkl_lock_close(mine);
    EXPECT(meanwhile == NULL);
    EXPECT(others == NULL);
    zkl_testing_end();
}

static CU_TestInfo tests[] = {
    TEST(lock_that_is_lost_as_its_acquire_returns_was_granted_as_told),
    TEST(last_two_handles_of_a_closed_client_free_it_once),
    TEST_END,
};

int main(void) {
    return unit_main("lock unlocked", tests);
}
