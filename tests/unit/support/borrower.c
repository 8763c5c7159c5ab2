#include "support/borrower.h"

enum { LEASE_TICK_MS = 100 };

zkl_client *lending_client;
borrower handles[BORROWERS];
size_t handles_open;
relative rival;

static void begin(zkl_dispatch dispatch, const zkl_lending *lending) {
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_testing_begin(NULL);
    client_options.session_timeout_ms = RELATIVE_SESSION_MS;
    client_options.lease_tick_ms = lending->retain_ms > 0 ? LEASE_TICK_MS : 0;
    client_options.metrics = 1;
    client_options.dispatch = dispatch;
    options.lending = lending;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &lending_client), ZKL_OK);
    for (size_t i = 0; i < BORROWERS; i++) {
        handles[i] = (borrower){ .grant = ZKL_GRANT_INIT };
        EXPECT_INT(zkl_lock_open(lending_client, "stock", &options, &handles[i].lock), ZKL_OK);
    }
    handles_open = BORROWERS;
    relative_open(&rival, ZKL_EXCLUSIVE, NULL);
}

void borrowers_begin(int32_t hand_offs, int64_t hand_off_ms, int64_t retain_ms) {
    const zkl_lending lending = { sizeof(lending), .hand_offs = hand_offs,
                                  .hand_off_ms = hand_off_ms, .retain_ms = retain_ms };
    begin(ZKL_DISPATCH_THREAD, &lending);
}

void borrowers_begin_dispatching(int32_t hand_offs) {
    begin(ZKL_DISPATCH_CALLER, &(zkl_lending){ sizeof(zkl_lending), .hand_offs = hand_offs });
}

void borrowers_end(void) {
    for (size_t i = 0; i < handles_open; i++) {
        zkl_lock_close(handles[i].lock);
    }
    relative_close(&rival);
    EXPECT_INT(zkl_client_close(lending_client, RELATIVE_SESSION_MS), ZKL_OK);
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_end();
}

void borrower_open_again(borrower *self, const zkl_lock_options *options) {
    zkl_lock_close(self->lock);
    EXPECT_INT(zkl_lock_open(lending_client, "stock", options, &self->lock), ZKL_OK);
}

size_t borrowers_nodes(void) {
    return zkl_testing_count_children(RELATIVE_RESOURCE);
}

uint64_t borrowers_requests(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    uint64_t count = 0;
    EXPECT_INT(zkl_client_info(lending_client, &information), ZKL_OK);
    static const zkl_call_kind kinds[] = { ZKL_CALL_CREATE, ZKL_CALL_DELETE, ZKL_CALL_LIST };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        count +=
            zkl_ensemble_request_count(zkl_ensemble_current(), information.session_id, kinds[i]);
    }
    return count;
}

int borrower_acquire(borrower *self, int64_t timeout_ms) {
    self->status = zkl_lock_acquire(self->lock, self->mode, timeout_ms, &self->grant);
    return self->status;
}

static void run(void *arg) {
    borrower *self = arg;
    (void)borrower_acquire(self, self->timeout_ms);
}

void borrower_start(borrower *self, int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    self->status = RELATIVE_WAITS;
    self->task = zkl_testing_start(run, self);
    zkl_testing_sleep(RELATIVE_SOON_MS);
}

int borrower_join(borrower *self) {
    zkl_testing_join(self->task);
    return self->status;
}

int borrower_release(borrower *self) {
    return zkl_lock_release(self->lock, ZKL_FOREVER);
}
