/* A program that does not look whether it has what it asked for: the compiler says so of each call.
 */
#include <zklock/administration.h>
#include <zklock/election.h>
#include <zklock/striped_lock.h>
#include <zklock/zklock.h>

void drop(zkl_client *client, zkl_lock *lock, zkl_transaction *transaction);
void drop_sets(zkl_client *client, zkl_lock *set, zkl_striped_lock *stripes);
void drop_terms(zkl_client *client, zkl_election *election, zkl_observer *observer);

void drop(zkl_client *client, zkl_lock *lock, zkl_transaction *transaction) {
    zkl_client_open("server:2181", NULL, &client);
    zkl_lock_open(client, "stock", NULL, &lock);
    zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL);
    zkl_lock_acquire_async(lock, ZKL_EXCLUSIVE, 0, NULL, NULL, NULL);
    zkl_lock_check(lock, NULL);
    zkl_lock_verify(lock, 1);
    zkl_lock_verify_async(lock, 1, NULL, NULL);
    zkl_lock_try_upgrade(lock, NULL);
    zkl_lock_try_upgrade_async(lock, NULL, NULL, NULL);
    zkl_transaction_commit(transaction, 1, NULL);
    zkl_transaction_commit_async(transaction, 1, NULL, NULL);
}

void drop_sets(zkl_client *client, zkl_lock *set, zkl_striped_lock *stripes) {
    zkl_lock_open_set(client, NULL, 0, NULL, &set);
    zkl_lock_acquire(set, ZKL_AS_OPENED, 0, NULL);
    zkl_lock_acquire_async(set, ZKL_AS_OPENED, 0, NULL, NULL, NULL);
    zkl_lock_check(set, NULL);
    zkl_striped_lock_open(client, "stock", 8, NULL, &stripes);
    zkl_striped_lock_acquire(stripes, 0, ZKL_EXCLUSIVE, 0, NULL);
    zkl_striped_lock_acquire(stripes, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL);
    zkl_striped_lock_acquire(stripes, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, 0, NULL);
    zkl_striped_lock_acquire_async(stripes, 0, ZKL_EXCLUSIVE, 0, NULL, NULL);
    zkl_striped_lock_acquire_async(stripes, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL, NULL);
    zkl_striped_lock_acquire_async(stripes, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, 0, NULL, NULL);
    zkl_lock_check(zkl_striped_lock_held(stripes), NULL);
}

void drop_terms(zkl_client *client, zkl_election *election, zkl_observer *observer) {
    zkl_election_open(client, "service", NULL, &election);
    zkl_election_campaign(election, 0, NULL);
    zkl_election_campaign_async(election, 0, NULL, NULL);
    zkl_election_observe(client, "service", NULL, NULL, &observer);
}
