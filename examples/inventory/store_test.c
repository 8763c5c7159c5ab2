/*
 * What each way of writing back is worth, by the interleaving that tells them
 * apart: one holder is stopped between its read and its write, and resumed
 * between the read and the write of its successor. Two connections stand for
 * the two processes; needs no ensemble. (The scenario paused-holder does the
 * same with a process that is really stopped.)
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store.h"

enum { TOKEN_HOLDER = 100, TOKEN_SUCCESSOR = 200 };

static char directory[] = "/tmp/inventory-test-XXXXXX";
static char database[sizeof(directory) + sizeof("/stock.db")];
static struct store *holder;
static struct store *successor;
static int failures;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__,         \
                          #condition);                                                             \
            failures++;                                                                            \
        }                                                                                          \
    } while (false)

static void set_up(void) {
    (void)unlink(database);
    EXPECT(store_create(database, 1) == STORE_OK);
    EXPECT(store_open(database, &holder) == STORE_OK);
    EXPECT(store_open(database, &successor) == STORE_OK);
}

static void tear_down(void) {
    store_close(holder);
    store_close(successor);
}

static struct store_sale last_unit(int64_t token) {
    return (struct store_sale){ .buyer = "buyer", .units = 1, .quantity_left = 0, .token = token };
}

static int read_quantity(struct store *store) {
    int quantity = -1;
    EXPECT(store_read_quantity(store, &quantity) == STORE_OK);
    return quantity;
}

static int read_sold(void) {
    int sold = -1;
    EXPECT(store_read_sold(successor, &sold) == STORE_OK);
    return sold;
}

static void claimed_before_read_refuses_the_stopped_holder(void) {
    struct store_sale late = last_unit(TOKEN_HOLDER);
    struct store_sale rightful = last_unit(TOKEN_SUCCESSOR);
    EXPECT(store_claim(holder, TOKEN_HOLDER) == STORE_OK);
    EXPECT(read_quantity(holder) == 1);
    EXPECT(store_claim(successor, TOKEN_SUCCESSOR) == STORE_OK);
    EXPECT(read_quantity(successor) == 1);
    EXPECT(store_sell_claimed(holder, &late) == STORE_FENCED_OFF);
    EXPECT(store_sell_claimed(successor, &rightful) == STORE_OK);
    EXPECT(read_sold() == 1);
    EXPECT(read_quantity(successor) == 0);
}

static void checked_at_the_write_alone_oversells(void) {
    struct store_sale late = last_unit(TOKEN_HOLDER);
    struct store_sale rightful = last_unit(TOKEN_SUCCESSOR);
    EXPECT(read_quantity(holder) == 1);
    EXPECT(read_quantity(successor) == 1);
    EXPECT(store_sell_checked_at_write(holder, &late) == STORE_OK);
    EXPECT(store_sell_checked_at_write(successor, &rightful) == STORE_OK);
    EXPECT(read_sold() == 2);
}

static void checked_at_the_write_refuses_only_after_a_later_write(void) {
    struct store_sale late = last_unit(TOKEN_HOLDER);
    struct store_sale rightful = last_unit(TOKEN_SUCCESSOR);
    EXPECT(store_sell_checked_at_write(successor, &rightful) == STORE_OK);
    EXPECT(store_sell_checked_at_write(holder, &late) == STORE_FENCED_OFF);
    EXPECT(read_sold() == 1);
}

static void unguarded_oversells(void) {
    struct store_sale sale = last_unit(0);
    EXPECT(read_quantity(holder) == 1);
    EXPECT(read_quantity(successor) == 1);
    EXPECT(store_sell_unguarded(holder, &sale) == STORE_OK);
    EXPECT(store_sell_unguarded(successor, &sale) == STORE_OK);
    EXPECT(read_sold() == 2);
}

static void claim_of_an_earlier_holder_is_refused(void) {
    int64_t fence = -1;
    EXPECT(store_claim(successor, TOKEN_SUCCESSOR) == STORE_OK);
    EXPECT(store_claim(holder, TOKEN_HOLDER) == STORE_FENCED_OFF);
    EXPECT(store_claim(successor, TOKEN_SUCCESSOR) == STORE_OK);
    EXPECT(store_read_fence(holder, &fence) == STORE_OK);
    EXPECT(fence == TOKEN_SUCCESSOR);
}

/* A refused sale must leave no transaction open, which would lock all others out. */
static void connection_is_usable_after_a_refused_sale(void) {
    struct store_sale sale = last_unit(TOKEN_HOLDER);
    EXPECT(store_sell_claimed(holder, &sale) == STORE_FENCED_OFF);
    EXPECT(store_claim(successor, TOKEN_HOLDER) == STORE_OK);
    EXPECT(store_sell_claimed(holder, &sale) == STORE_OK);
    EXPECT(read_sold() == 1);
}

static void database_that_is_not_there_is_an_error(void) {
    struct store *missing = NULL;
    EXPECT(store_open("/tmp/inventory-test-none/stock.db", &missing) == STORE_ERROR);
    EXPECT(store_error(missing)[0] != '\0');
    store_close(missing);
}

int main(void) {
    static void (*const tests[])(void) = {
        claimed_before_read_refuses_the_stopped_holder,
        checked_at_the_write_alone_oversells,
        checked_at_the_write_refuses_only_after_a_later_write,
        unguarded_oversells,
        claim_of_an_earlier_holder_is_refused,
        connection_is_usable_after_a_refused_sale,
        database_that_is_not_there_is_an_error,
    };
    if (mkdtemp(directory) == NULL) {
        perror("mkdtemp");
        return EXIT_FAILURE;
    }
    (void)snprintf(database, sizeof(database), "%s/stock.db", directory);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        set_up();
        tests[i]();
        tear_down();
    }
    (void)unlink(database);
    (void)rmdir(directory);
    (void)printf("%d failures in %zu tests\n", failures, sizeof(tests) / sizeof(tests[0]));
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
