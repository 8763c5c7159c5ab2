/*
 * Sells a product that everybody wants, in eight portions: hot_product HOSTS CUSTOMER
 *
 * Each portion has a counter and a lock of its own, so that eight can sell at once. All orders of a
 * customer go to one portion, in their order. A buyer of one piece takes any portion. Stock-taking
 * needs all of them.
 */
#include <string.h>
#include <zklock/striped_lock.h>

#include "../example.h"

enum { PORTIONS = 8, PATIENCE_MS = 30000 };

static int hot_product_note(zkl_striped_lock *portions, const char *what, const zkl_grant *grant) {
    printf("%s: portion %d\n", what, grant->stripe);
    return zkl_lock_release(zkl_striped_lock_held(portions), PATIENCE_MS);
}

static int sell_and_count(zkl_striped_lock *portions, const char *customer) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int32_t portion = zkl_stripe_of_key(customer, strlen(customer), PORTIONS);
    int status = zkl_striped_lock_acquire(portions, portion, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    if (status == ZKL_OK) {
        status = hot_product_note(portions, "an order of this customer", &grant);
    }
    if (status == ZKL_OK) {
        status =
            zkl_striped_lock_acquire(portions, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    }
    if (status == ZKL_OK) {
        status = hot_product_note(portions, "one piece, wherever there is one", &grant);
    }
    if (status == ZKL_OK) {
        status =
            zkl_striped_lock_acquire(portions, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    }
    return status == ZKL_OK ? hot_product_note(portions, "stock-taking (-1: all)", &grant) : status;
}

static int hot_product_run(zkl_client *client, int argc, char **argv) {
    zkl_striped_lock *portions = NULL;
    int status = zkl_striped_lock_open(client, "hot-product", PORTIONS, NULL, &portions);
    if (status == ZKL_OK) {
        status = sell_and_count(portions, argc > 2 ? argv[2] : "customer 7");
    }
    zkl_striped_lock_close(portions);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, hot_product_run);
}
