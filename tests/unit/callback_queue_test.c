/*
 * The queue of callbacks with threads that are real: posted to by several, and run by
 * its own thread, or by those of the application that poll its descriptor.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/callback_queue.h"
#include "support/lock_desk.h"

enum { POSTERS = 4, POSTS_EACH = 2000, DISPATCHERS = 2 };

typedef struct post {
    zkl_callback callback; /* first */
    int poster;
    int number;
} post;

static post posts[POSTERS][POSTS_EACH];
static int last[POSTERS];
static atomic_int runs;
static atomic_int inside;
static atomic_int wrong;
static zkl_callback_queue *queue;

static void run_post(zkl_callback *callback) {
    const post *its = (const post *)callback;
    bool alone = atomic_fetch_add(&inside, 1) == 0;
    bool in_order = last[its->poster] == its->number - 1;
    last[its->poster] = its->number;
    if (!alone || !in_order || !zkl_callback_is_running()) {
        atomic_fetch_add(&wrong, 1);
    }
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&runs, 1);
}

static void *post_all(void *arg) {
    int poster = *(const int *)arg;
    for (int i = 0; i < POSTS_EACH; i++) {
        posts[poster][i] = (post){ { .run = run_post }, poster, i };
        (void)zkl_callback_queue_post(queue, &posts[poster][i].callback, SIZE_MAX);
    }
    return NULL;
}

static void *dispatch_all(void *arg) {
    struct pollfd one = { .fd = zkl_callback_queue_descriptor(queue), .events = POLLIN };
    (void)arg;
    while (atomic_load(&runs) < POSTERS * POSTS_EACH) {
        if (poll(&one, 1, 10) > 0) { /* the other may have run the last of them */
            (void)zkl_callback_queue_dispatch(queue);
        }
    }
    return NULL;
}

static void begin(zkl_callback_queue *whose) {
    queue = whose;
    atomic_store(&runs, 0);
    atomic_store(&wrong, 0);
    for (int i = 0; i < POSTERS; i++) {
        last[i] = -1;
    }
}

static void post_by_all(pthread_t *threads, int *numbers) {
    for (int i = 0; i < POSTERS; i++) {
        numbers[i] = i;
        EXPECT_INT(pthread_create(&threads[i], NULL, post_all, &numbers[i]), 0);
    }
}

static void join(const pthread_t *threads, int count) {
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void expect_each_once_in_order(void) {
    EXPECT_INT(atomic_load(&runs), POSTERS * POSTS_EACH);
    EXPECT_INT(atomic_load(&wrong), 0);
    EXPECT(!zkl_callback_is_running());
}

TEST(own_thread_runs_each_once_in_order) {
    pthread_t threads[POSTERS];
    int numbers[POSTERS];
    begin(zkl_callback_queue_open(true));
    post_by_all(threads, numbers);
    join(threads, POSTERS);
    zkl_callback_queue_close(queue); /* runs the rest */
    expect_each_once_in_order();
}

TEST(threads_that_poll_run_each_once_in_order) {
    pthread_t threads[POSTERS];
    pthread_t dispatchers[DISPATCHERS];
    int numbers[POSTERS];
    begin(zkl_callback_queue_open(false));
    for (int i = 0; i < DISPATCHERS; i++) {
        EXPECT_INT(pthread_create(&dispatchers[i], NULL, dispatch_all, NULL), 0);
    }
    post_by_all(threads, numbers);
    join(threads, POSTERS);
    join(dispatchers, DISPATCHERS);
    EXPECT_INT(zkl_callback_queue_dispatch(queue), 0);
    zkl_callback_queue_close(queue);
    expect_each_once_in_order();
}

static void post_one_more(zkl_callback *callback) {
    run_post(callback);
    posts[0][2] = (post){ { .run = run_post }, 0, 2 };
    (void)zkl_callback_queue_post(queue, &posts[0][2].callback, SIZE_MAX);
}

/* What is posted during a dispatch is left for the next, of which an edge tells. */
TEST(who_waits_for_an_edge_hears_of_what_a_dispatch_leaves) {
    begin(zkl_callback_queue_open(false));
    int poll_set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    EXPECT_INT(epoll_ctl(poll_set, EPOLL_CTL_ADD, zkl_callback_queue_descriptor(queue), &event), 0);
    posts[0][0] = (post){ { .run = post_one_more }, 0, 0 };
    posts[0][1] = (post){ { .run = run_post }, 0, 1 };
    (void)zkl_callback_queue_post(queue, &posts[0][0].callback, SIZE_MAX);
    (void)zkl_callback_queue_post(queue, &posts[0][1].callback, SIZE_MAX);
    EXPECT_INT(epoll_wait(poll_set, &event, 1, 0), 1);
    EXPECT_INT(zkl_callback_queue_dispatch(queue), 2);
    EXPECT_INT(epoll_wait(poll_set, &event, 1, 0), 1);
    EXPECT_INT(zkl_callback_queue_dispatch(queue), 1);
    EXPECT_INT(epoll_wait(poll_set, &event, 1, 0), 0);
    EXPECT_INT(atomic_load(&wrong), 0);
    EXPECT_INT(close(poll_set), 0);
    zkl_callback_queue_close(queue);
}

TEST(close_runs_on_the_calling_thread_what_nobody_has_dispatched) {
    pthread_t threads[POSTERS];
    int numbers[POSTERS];
    begin(zkl_callback_queue_open(false));
    post_by_all(threads, numbers);
    join(threads, POSTERS);
    EXPECT_INT(atomic_load(&runs), 0);
    zkl_callback_queue_close(queue);
    expect_each_once_in_order();
}

static void run_post_and_post_another(zkl_callback *callback) {
    run_post(callback);
    posts[0][2] = (post){ { .run = run_post }, 0, 2 };
    (void)zkl_callback_queue_post(queue, &posts[0][2].callback, SIZE_MAX);
}

/* A loop that is edge-triggered is told once of each change, and dispatches once for it: what comes
 * while another callback still waits is a change as well. */
TEST(edge_triggered_loop_hears_of_what_came_during_a_dispatch) {
    begin(zkl_callback_queue_open(false));
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    int loop = epoll_create1(EPOLL_CLOEXEC);
    EXPECT_INT(epoll_ctl(loop, EPOLL_CTL_ADD, zkl_callback_queue_descriptor(queue), &event), 0);
    posts[0][0] = (post){ { .run = run_post_and_post_another }, 0, 0 };
    posts[0][1] = (post){ { .run = run_post }, 0, 1 };
    (void)zkl_callback_queue_post(queue, &posts[0][0].callback, SIZE_MAX);
    (void)zkl_callback_queue_post(queue, &posts[0][1].callback, SIZE_MAX);
    EXPECT_INT(epoll_wait(loop, &event, 1, 0), 1);
    EXPECT_INT(epoll_wait(loop, &event, 1, 0), 0);
    EXPECT_INT(zkl_callback_queue_dispatch(queue), 2);
    EXPECT_INT(epoll_wait(loop, &event, 1, 0), 1);
    EXPECT_INT(zkl_callback_queue_dispatch(queue), 1);
    EXPECT_INT(epoll_wait(loop, &event, 1, 0), 0);
    EXPECT_INT(atomic_load(&runs), 3);
    EXPECT_INT(atomic_load(&wrong), 0);
    (void)close(loop);
    zkl_callback_queue_close(queue);
}

/* ---- A handle ----------------------------------------------------------------------- */

typedef struct told {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int times;
    int status;
    pthread_t thread;
} told;

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    told *self = arg;
    (void)grant;
    pthread_mutex_lock(&self->mutex);
    self->times++;
    self->status = status;
    self->thread = pthread_self();
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

TEST(close_of_the_client_tells_before_it_returns) {
    told self = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, pthread_self() };
    lock_desk *desk = desk_open(NULL);
    EXPECT_INT(
        zkl_lock_acquire_async(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_acquired, &self),
        ZKL_OK);
    (void)desk_close_client(desk);
    EXPECT_INT(self.times, 1);
    EXPECT_INT(self.status, ZKL_CLOSED);
    desk_close(desk);
}
