/* Calls on handles that are closed, on simulated servers: named, and without a look at what is
 * gone. */
#include "base/handles.h"

#include <stdlib.h>

#include "support/unit.h"
#include "zklock/election.h"
#include "zklock/striped_lock.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum { WAIT_MS = 10000 };

static zkl_client *client;

static void begin(void) {
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
}

static void end(void) {
    EXPECT_INT(zkl_client_close(client, WAIT_MS), ZKL_OK);
    zkl_testing_end();
}

#define REFUSED_AS(call, message)                                                                  \
    do {                                                                                           \
        EXPECT_INT((call), ZKL_INVALID_ARGUMENT);                                                  \
        EXPECT_TEXT(zkl_error_message(), message);                                                 \
    } while (0)
#define CLOSED(call, what) REFUSED_AS(call, what ": it is closed, or was never opened")
#define OF_ANOTHER_KIND(call, what, kind)                                                          \
    REFUSED_AS(call, what ": it is a handle of another kind: " kind)

TEST(lock_that_is_closed_is_named) {
    zkl_lock *lock = NULL;
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    zkl_transaction *transaction = NULL;
    begin();
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    zkl_lock_close(lock);
    CLOSED(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), "lock");
    CLOSED(zkl_lock_check(lock, NULL), "lock");
    CLOSED(zkl_lock_info(lock, &information), "lock");
    CLOSED(zkl_lock_verify(lock, WAIT_MS), "lock");
    CLOSED(zkl_lock_release(lock, WAIT_MS), "lock");
    CLOSED(zkl_lock_downgrade(lock, WAIT_MS), "lock");
    CLOSED(zkl_lock_cancel(lock), "lock");
    CLOSED(zkl_transaction_begin(lock, &transaction), "lock");
    zkl_lock_close(lock); /* once more is nothing */
    end();
}

/* Its memory is there for as long as its handles. */
TEST(client_that_is_closed_before_its_handles_says_so) {
    zkl_lock *lock = NULL;
    zkl_lock *other = NULL;
    int descriptor = 0;
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_client_close(client, WAIT_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &other), ZKL_CLOSED);
    EXPECT_INT(zkl_client_close(client, WAIT_MS), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_CLOSED);
    EXPECT_INT(zkl_client_info(client, &information), ZKL_CLOSED);
    EXPECT_INT(zkl_client_event_descriptor(client, &descriptor), ZKL_CLOSED);
    EXPECT_INT(zkl_client_dispatch(client, NULL), ZKL_CLOSED);
    zkl_lock_close(lock);
    CLOSED(zkl_client_close(client, WAIT_MS), "client");
    zkl_testing_end();
}

TEST(transaction_whose_lock_is_closed_or_that_is_freed_is_named) {
    zkl_lock *lock = NULL;
    zkl_transaction *transaction = NULL;
    begin();
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    zkl_lock_close(lock);
    CLOSED(zkl_transaction_set(transaction, "/mark", "1", 1, ZKL_ANY_VERSION), "lock");
    CLOSED(zkl_transaction_commit(transaction, WAIT_MS, NULL), "lock");
    zkl_transaction_free(transaction);
    CLOSED(zkl_transaction_commit(transaction, WAIT_MS, NULL), "transaction");
    zkl_transaction_free(transaction);
    end();
}

TEST(other_handles_that_are_closed_are_named) {
    zkl_lock *set = NULL;
    zkl_striped_lock *stripes = NULL;
    zkl_election *election = NULL;
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    member.resource = "stock";
    begin();
    EXPECT_INT(zkl_lock_open_set(client, &member, 1, NULL, &set), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_open(client, "hot", 2, NULL, &stripes), ZKL_OK);
    EXPECT_INT(zkl_election_open(client, "service", NULL, &election), ZKL_OK);
    zkl_lock_close(set);
    zkl_striped_lock_close(stripes);
    zkl_election_close(election);
    CLOSED(zkl_lock_acquire(set, ZKL_AS_OPENED, WAIT_MS, NULL), "lock");
    CLOSED(zkl_striped_lock_acquire(stripes, 0, ZKL_EXCLUSIVE, WAIT_MS, NULL), "striped_lock");
    CLOSED(zkl_election_campaign(election, WAIT_MS, NULL), "election");
    EXPECT(zkl_election_lock(election) == NULL);
    zkl_lock_close(set);
    zkl_striped_lock_close(stripes);
    zkl_election_close(election);
    end();
}

/* The compiler warns of it; a binding for another language has no compiler. */
TEST(handle_of_another_kind_is_named) {
    zkl_lock *lock = NULL;
    zkl_striped_lock *stripes = NULL;
    zkl_election *election = NULL;
    zkl_transaction *transaction = NULL;
    zkl_lock *made = NULL;
    begin();
    if (zkl_handle_check("lock", client) == ZKL_OK) {
        EXPECT(false); /* and the calls below would not come back */
        end();
        return;
    }
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_open(client, "hot", 2, NULL, &stripes), ZKL_OK);
    EXPECT_INT(zkl_election_open(client, "service", NULL, &election), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    OF_ANOTHER_KIND(zkl_lock_open((void *)lock, "stock", NULL, &made), "client", "lock");
    OF_ANOTHER_KIND(zkl_lock_acquire((void *)client, ZKL_READ, WAIT_MS, NULL), "lock", "client");
    OF_ANOTHER_KIND(zkl_lock_check((void *)stripes, NULL), "lock", "striped_lock");
    OF_ANOTHER_KIND(zkl_lock_release((void *)election, WAIT_MS), "lock", "election");
    OF_ANOTHER_KIND(zkl_striped_lock_acquire((void *)lock, 0, ZKL_READ, WAIT_MS, NULL),
                    "striped_lock", "lock");
    OF_ANOTHER_KIND(zkl_election_campaign((void *)transaction, WAIT_MS, NULL), "election",
                    "transaction");
    OF_ANOTHER_KIND(zkl_transaction_commit((void *)lock, WAIT_MS, NULL), "transaction", "lock");
    OF_ANOTHER_KIND(zkl_client_close((void *)lock, WAIT_MS), "client", "lock");
    EXPECT(zkl_election_lock((void *)stripes) == NULL);
    EXPECT(zkl_striped_lock_held((void *)election) == NULL);
    zkl_lock_close((void *)client); /* what returns no status does nothing */
    zkl_striped_lock_close((void *)lock);
    zkl_election_close((void *)lock);
    zkl_observer_close((void *)lock);
    zkl_transaction_free((void *)lock);
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
    zkl_election_close(election);
    zkl_striped_lock_close(stripes);
    zkl_lock_close(lock);
    end();
}

TEST(many_handles_are_told_apart) {
    enum { MANY = 20000 };
    zkl_handle *all = calloc(MANY, sizeof(*all));
    EXPECT(all != NULL);
    for (size_t i = 0; all != NULL && i < MANY; i += 2) {
        zkl_handle_open("client", &all[i]);
    }
    for (size_t i = 0; all != NULL && i < MANY; i += 6) {
        zkl_handle_close(&all[i]);
    }
    for (size_t i = 0; all != NULL && i < MANY; i++) {
        EXPECT(zkl_handle_is_open("client", &all[i]) == (i % 2 == 0 && i % 6 != 0));
    }
    for (size_t i = 0; all != NULL && i < MANY; i++) {
        if (zkl_handle_is_open("client", &all[i])) {
            zkl_handle_close(&all[i]);
        }
    }
    EXPECT(!zkl_handle_is_open("client", NULL));
    free(all);
}
