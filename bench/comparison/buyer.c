/*
 * One buyer of the comparison: a process that places orders, one after the other, under a lock.
 *
 * It says what it does on its standard output, a line for each step: microseconds of the monotonic
 * clock, a word, and a number (0 where the word needs none). The harness reads that to know when a
 * fault is due. Whether anything was sold twice it asks the database, never a buyer.
 */
#include "clock.h"
#include "database.h"
#include "mechanism.h"
#include "shop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_SIZE = 96, PRODUCT_SIZE = 64, PAUSE_MS = 20 };

typedef struct buyer {
    lock_settings lock;
    const char *database;
    const char *product;
    int64_t products; /* more than one: PRODUCT-0 and so on, by chance */
    int64_t orders;
    int64_t wait_ms;
    int64_t work_ms;
    int64_t forget; /* 1: the lock of the first order is never given back */
    int64_t twice;  /* 1: the lock is asked for once more by who has it */
    int64_t fence;  /* 1: the stock is claimed with the grant's token */
} buyer;

static void say(const char *word, int64_t number) {
    printf("%" PRId64 " %s %" PRId64 "\n", clock_us(), word, number);
    (void)fflush(stdout);
}

/* ---- One order ------------------------------------------------------------------------------- */

static lock_answer write_sale(const buyer *self, const char *product, const char *order,
                              const shop_sight *sight, int64_t token) {
    if (the_mechanism.sell != NULL) {
        lock_answer taken = the_mechanism.sell(product, order, sight->units);
        if (taken != LOCK_GRANTED) {
            return taken;
        }
        return shop_note(product, order, sight, token) == SHOP_DONE ? LOCK_GRANTED : LOCK_UNKNOWN;
    }
    switch (shop_sell(product, order, sight, self->fence != 0 ? token : LOCK_NO_TOKEN,
                      the_mechanism.holds_transaction)) {
    case SHOP_DONE:
        return LOCK_GRANTED;
    case SHOP_REFUSED:
        return LOCK_BUSY;
    default:
        return LOCK_UNKNOWN;
    }
}

/* Reads, decides, writes. Whether the order is settled: sold, or nothing was left. */
static bool sell_inside(const buyer *self, const char *product, const char *order, int64_t token) {
    shop_sight sight;
    if (self->fence != 0 && shop_claim(product, token) != SHOP_DONE) {
        say("refused", token);
        return false;
    }
    if (shop_read(product, &sight) != SHOP_DONE) {
        say("unread", 0);
        return false;
    }
    say("inside", sight.units);
    if (sight.units <= 0) {
        say("sold_out", 0);
        return true;
    }
    clock_pause_ms(self->work_ms);
    if (the_mechanism.still_held != NULL && !the_mechanism.still_held(product)) {
        say("lost", token);
        return false;
    }
    say("writes", sight.units);
    lock_answer answer = write_sale(self, product, order, &sight, token);
    say(answer == LOCK_GRANTED ? "sold" : answer == LOCK_BUSY ? "refused" : "unwritten", token);
    return answer == LOCK_GRANTED;
}

/* Whether an earlier try of it has been written after all. */
static bool stands_already(const char *order, bool *tried) {
    bool has = false;
    if (*tried && shop_has(order, &has) == SHOP_DONE && has) {
        say("sold_before", 0);
        return true;
    }
    *tried = true;
    return false;
}

/* As a function does that is called by another one under the same lock. */
static void ask_again(const buyer *self, const char *product) {
    int64_t token = LOCK_NO_TOKEN;
    lock_answer answer = the_mechanism.acquire(product, self->wait_ms, &token);
    say(answer == LOCK_GRANTED ? "granted_twice" : "not_twice", token);
    if (answer == LOCK_GRANTED) {
        the_mechanism.release(product);
    }
}

static bool try_order(const buyer *self, const char *product, const char *order, int64_t number) {
    int64_t token = LOCK_NO_TOKEN;
    say("asks", number);
    lock_answer answer = the_mechanism.acquire(product, self->wait_ms, &token);
    if (answer != LOCK_GRANTED) {
        say(answer == LOCK_BUSY ? "busy" : "unknown", number);
        return false;
    }
    say("granted", token);
    if (self->twice != 0) {
        ask_again(self, product);
    }
    bool settled = sell_inside(self, product, order, token);
    if (self->forget != 0 && number == 0) {
        say("forgets", number);
        return settled;
    }
    the_mechanism.release(product);
    say("released", number);
    return settled;
}

static void place_order(const buyer *self, int64_t number, unsigned *chance) {
    char order[ORDER_SIZE];
    char product[PRODUCT_SIZE];
    bool tried = false;
    (void)snprintf(order, sizeof order, "%s-%" PRId64, self->lock.buyer, number);
    (void)snprintf(product, sizeof product, "%s", self->product);
    if (self->products > 1) {
        (void)snprintf(product, sizeof product, "%s-%" PRId64, self->product,
                       rand_r(chance) % self->products);
    }
    while (!clock_is_over() && !stands_already(order, &tried) &&
           !try_order(self, product, order, number)) {
        clock_pause_ms(PAUSE_MS);
    }
}

/* ---- The command line ------------------------------------------------------------------------ */

static void fail(const char *what, const char *which) {
    (void)fprintf(stderr, "buyer: %s '%s'\n", what, which);
    exit(2);
}

static int64_t number_of(const char *text) {
    char *behind = NULL;
    int64_t number = strtoll(text, &behind, 10);
    if (behind == text || *behind != '\0' || number < 0) {
        fail("must be a number, 0 or more:", text);
    }
    return number;
}

static void take(buyer *self, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } settings[] = {
        { "servers", &self->lock.servers, NULL },
        { "buyer", &self->lock.buyer, NULL },
        { "timeout_ms", NULL, &self->lock.timeout_ms },
        { "database", &self->database, NULL },
        { "product", &self->product, NULL },
        { "products", NULL, &self->products },
        { "orders", NULL, &self->orders },
        { "wait_ms", NULL, &self->wait_ms },
        { "work_ms", NULL, &self->work_ms },
        { "forget", NULL, &self->forget },
        { "twice", NULL, &self->twice },
        { "fence", NULL, &self->fence },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(name, settings[i].name) == 0) {
            if (settings[i].text != NULL) {
                *settings[i].text = value;
            } else {
                *settings[i].number = number_of(value);
            }
            return;
        }
    }
    fail("no setting is called", name);
}

/* Each argument is NAME=VALUE. */
static void read_arguments(buyer *self, char **arguments) {
    for (; *arguments != NULL; arguments++) {
        char *equals = strchr(*arguments, '=');
        if (equals == NULL) {
            fail("must be NAME=VALUE:", *arguments);
        }
        *equals = '\0';
        take(self, *arguments, equals + 1);
    }
}

/* Until the harness says so with a line. */
static bool wait_for_word(void) {
    int letter = getchar();
    while (letter != '\n' && letter != EOF) {
        letter = getchar();
    }
    return letter == '\n';
}

int main(int count, char **arguments) {
    buyer self = { .lock = { .servers = "", .buyer = "buyer", .timeout_ms = 1000 },
                   .database = "",
                   .product = "dryer",
                   .products = 1,
                   .orders = 1,
                   .wait_ms = 10000 };
    read_arguments(&self, arguments + (count > 0 ? 1 : 0));
    clock_open();
    database_open(self.database);
    the_mechanism.open(&self.lock);
    say("ready", 0);
    unsigned chance = (unsigned)clock_us();
    if (!wait_for_word()) {
        return 1;
    }
    for (int64_t number = 0; !clock_is_over() && number < self.orders; number++) {
        place_order(&self, number, &chance);
    }
    say("done", 0);
    /* A buyer that forgets its lock lives on. */
    while (self.forget != 0 && !clock_is_over()) {
        clock_pause_ms(1000);
    }
    return 0;
}
