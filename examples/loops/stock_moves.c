/*
 * Moves goods between warehouses, all moves at once in one epoll loop: stock_moves HOSTS
 *
 * Each move needs two of the three warehouses, and others name them in other orders. A set
 * takes both or none, so that no two moves wait for each other; and no thread waits for any.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zklock/zklock.h>

enum { WAREHOUSES = 3, MOVES = 2 * WAREHOUSES, DEADLINE_MS = 10000 };

static const char *const warehouses[WAREHOUSES] = { "warehouse-north", "warehouse-south",
                                                    "warehouse-west" };

typedef struct move {
    const char *from, *to;
    zkl_lock *both;
    int status; /* how it ended */
} move;

static int unfinished = MOVES;

static void move_finish(move *self, int status) {
    self->status = status;
    printf("%s to %s: %s%s%s\n", self->from, self->to, zkl_strerror(status),
           status != ZKL_OK ? ". " : "", status != ZKL_OK ? zkl_error_message() : "");
    unfinished--;
}

static void move_on_released(void *arg, int status) {
    move_finish(arg, status);
}

static void move_on_acquired(void *arg, int status, const zkl_grant *grant) {
    move *self = arg;
    if (status != ZKL_OK) {
        move_finish(self, status);
        return;
    }
    printf("%s to %s: moves under token %lld\n", self->from, self->to, (long long)grant->token);
    status = zkl_lock_release_async(self->both, DEADLINE_MS, NULL, move_on_released, self);
    if (status != ZKL_OK) {
        move_finish(self, status);
    }
}

/* Prints that the lock is lost. A longer job would stop here. */
static void move_on_news(void *arg, const zkl_lock_event *event) {
    const move *self = arg;
    if (event->state == ZKL_STATE_LOST) {
        printf("%s to %s: lost %s, %s\n", self->from, self->to, event->resource,
               zkl_strerror(event->reason));
    }
}

static int move_start(move *self, int number, zkl_client *client) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    int step = number < WAREHOUSES ? 1 : WAREHOUSES - 1; /* to the next one, or the one before */
    self->from = warehouses[number % WAREHOUSES];
    self->to = warehouses[(number + step) % WAREHOUSES];
    members[0].resource = self->from;
    members[1].resource = self->to;
    options.state_callback = move_on_news;
    options.state_arg = self;
    int status = zkl_lock_open_set(client, members, 2, &options, &self->both);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire_async(self->both, ZKL_AS_OPENED, DEADLINE_MS, NULL,
                                        move_on_acquired, self);
    }
    return status;
}

static int moves_watch(int loop, zkl_client *client) {
    struct epoll_event event = { .events = EPOLLIN };
    int descriptor = -1;
    int status = zkl_client_event_descriptor(client, &descriptor);
    if (status == ZKL_OK && epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        status = ZKL_SYSTEM;
    }
    return status;
}

static int run_moves(zkl_client *client, int loop, move *moves) {
    int status = moves_watch(loop, client);
    if (status != ZKL_OK) {
        return status;
    }
    for (int i = 0; i < MOVES; i++) {
        int begun = move_start(&moves[i], i, client);
        if (begun != ZKL_OK) {
            move_finish(&moves[i], begun);
        }
    }
    struct epoll_event event;
    while (unfinished > 0) {
        if (epoll_wait(loop, &event, 1, -1) > 0) {
            (void)zkl_client_dispatch(client, NULL);
        }
    }
    for (int i = 0; i < MOVES; i++) {
        status = moves[i].status != ZKL_OK ? moves[i].status : status;
    }
    return status;
}

int main(int argc, char **argv) {
    static move moves[MOVES];
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", &options, &client);
    if (status == ZKL_OK) {
        status = run_moves(client, loop, moves);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)close(loop); /* before zkl_client_close, which closes the descriptor */
    for (int i = 0; i < MOVES; i++) {
        zkl_lock_close(moves[i].both);
    }
    (void)zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
