/*
 * One buyer of the comparison: a process that places orders, one after the other, under a lock.
 *
 * It says what it does on its standard output, a line for each step: microseconds of the monotonic
 * clock, a word, and a number (0 where the word needs none). The harness reads that to know when a
 * fault is due. Whether anything was sold twice it asks the database, never a buyer.
 */
#include "clock.h"
#include "lock.h"
#include "shop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { ORDER_SIZE = 96, PRODUCT_SIZE = 64 };

typedef struct buyer {
    lock_settings lock;
    const char *database;
    const char *product;
    int64_t products;   /* more than one: PRODUCT-0 and so on, by chance */
    int64_t between_ms; /* from the first lock to the request for the second */
    int64_t orders;
    int64_t wait_ms;
    int64_t work_ms;
    int64_t work_p99_ms; /* not 0: work takes a time by chance, one in a hundred longer than this */
    int64_t pause_ms;    /* between two tries of an order */
    int64_t random_pauses; /* 1: up to twice that, by chance */
    int64_t new_numbers;   /* 1: each try of an order is a new order: a shop that does not look */
    int64_t forget;        /* 1: the lock of the first order is never given back */
    int64_t twice;         /* 1: the lock is asked for once more by who has it */
} buyer;

static unsigned chance;

static void say(const char *word, int64_t number) {
    printf("%" PRId64 " %s %" PRId64 "\n", clock_us(), word, number);
    (void)fflush(stdout);
}

/* ---- One order ------------------------------------------------------------------------------- */

/* More than 0, at most 1. */
static double draw(void) {
    return (1.0 + rand_r(&chance)) / (1.0 + RAND_MAX);
}

/* Log-normal, as times of work are: half of them are below a tenth of the P99. */
static int64_t draw_work_ms(int64_t p99_ms) {
    const double pi = 3.14159265358979;
    const double normal_p99 = 2.326; /* of the normal distribution */
    double normal = sqrt(-2 * log(draw())) * cos(2 * pi * draw());
    return (int64_t)((double)p99_ms * exp(normal - normal_p99));
}

static void work(const buyer *self) {
    clock_pause_ms(self->work_p99_ms > 0 ? draw_work_ms(self->work_p99_ms) : self->work_ms);
}

static const char *word_of(shop_answer answer) {
    return answer == SHOP_DONE ? "sold" : answer == SHOP_REFUSED ? "refused" : "unwritten";
}

/* Reads, decides, writes. Whether the order is settled: sold, or too little was left. */
static bool sell_inside(const buyer *self, const shop_order *order, int64_t token, bool forgets) {
    const char *product = order->product;
    shop_sight sight;
    if (self->lock.fence != 0 && shop_claim(product, token) != SHOP_DONE) {
        say("refused", token);
        return false;
    }
    if (shop_read(product, &sight) != SHOP_DONE) {
        say("unread", 0);
        return false;
    }
    say("inside", sight.units);
    if (sight.units < order->units) {
        say("sold_out", 0);
        return true;
    }
    work(self);
    if (the_mechanism.still_held != NULL && !the_mechanism.still_held(product)) {
        say("lost", token);
        return false;
    }
    say("writes", sight.units);
    shop_answer answer =
        shop_sell(order, &sight, self->lock.fence != 0 ? token : LOCK_NO_TOKEN, !forgets);
    say(word_of(answer), token);
    return answer == SHOP_DONE;
}

/* With the second lock inside the first, where there is one. */
static bool sell_locked(const buyer *self, const shop_order *order, int64_t token, bool forgets) {
    if (*self->lock.second == '\0') {
        return sell_inside(self, order, token, forgets);
    }
    clock_pause_ms(self->between_ms);
    say("asks_second", 0);
    if (lock_acquire_second(self->wait_ms) != LOCK_GRANTED) {
        say("no_second", 0);
        return false;
    }
    say("granted_second", 0);
    bool settled = sell_inside(self, order, token, forgets);
    lock_release_second();
    return settled;
}

/* As a function does that is called by another one under the same lock. */
static void ask_again(const buyer *self, const char *product) {
    int64_t token = LOCK_NO_TOKEN;
    lock_answer answer = lock_acquire(product, self->wait_ms, &token);
    say(answer == LOCK_GRANTED ? "granted_twice" : "not_twice", token);
    if (answer == LOCK_GRANTED) {
        the_mechanism.release(product);
    }
}

static bool try_order(const buyer *self, const shop_order *order, int64_t number) {
    int64_t token = LOCK_NO_TOKEN;
    bool forgets = self->forget != 0 && number == 0;
    say("asks", number);
    lock_answer answer = lock_acquire(order->product, self->wait_ms, &token);
    if (answer != LOCK_GRANTED) {
        say(answer == LOCK_BUSY ? "busy" : "unknown", number);
        return false;
    }
    say("granted", token);
    if (self->twice != 0) {
        ask_again(self, order->product);
    }
    bool settled = sell_locked(self, order, token, forgets);
    if (forgets) {
        say("forgets", number);
        return settled;
    }
    the_mechanism.release(order->product);
    say("released", number);
    return settled;
}

/* Whether it is settled: an earlier try may have been written after all. While the database does
 * not say so, nothing is tried. */
static bool try_again(const buyer *self, const shop_order *order, int64_t number) {
    bool has = false;
    if (shop_has(order->id, &has) != SHOP_DONE) {
        say("unread", 0);
        return false;
    }
    if (has) {
        say("sold_before", 0);
    }
    return has || try_order(self, order, number);
}

static void name_order(const buyer *self, char id[ORDER_SIZE], int64_t number, int64_t try) {
    if (self->new_numbers != 0 && try > 0) {
        (void)snprintf(id, ORDER_SIZE, "%s/%" PRId64 "-%" PRId64, self->lock.buyer, try, number);
    } else {
        (void)snprintf(id, ORDER_SIZE, "%s-%" PRId64, self->lock.buyer, number);
    }
}

static void place_order(const buyer *self, int64_t number) {
    char id[ORDER_SIZE];
    char product[PRODUCT_SIZE];
    const shop_order order = { .id = id, .product = product, .units = self->lock.units };
    (void)snprintf(product, sizeof product, "%s", self->product);
    if (self->products > 1) {
        (void)snprintf(product, sizeof product, "%s-%" PRId64, self->product,
                       rand_r(&chance) % self->products);
    }
    name_order(self, id, number, 0);
    bool settled = try_order(self, &order, number);
    for (int64_t try = 1; !settled && !clock_is_over(); try++) {
        clock_pause_ms(self->random_pauses != 0 ? (int64_t)(2 * draw() * (double)self->pause_ms)
                                                : self->pause_ms);
        name_order(self, id, number, try);
        settled = try_again(self, &order, number);
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
        { "units", NULL, &self->lock.units },
        { "second", &self->lock.second, NULL },
        { "between_ms", NULL, &self->between_ms },
        { "orders", NULL, &self->orders },
        { "wait_ms", NULL, &self->wait_ms },
        { "work_ms", NULL, &self->work_ms },
        { "work_p99_ms", NULL, &self->work_p99_ms },
        { "pause_ms", NULL, &self->pause_ms },
        { "random_pauses", NULL, &self->random_pauses },
        { "new_numbers", NULL, &self->new_numbers },
        { "forget", NULL, &self->forget },
        { "twice", NULL, &self->twice },
        { "fence", NULL, &self->lock.fence },
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
    buyer self = {
        .lock = { .servers = "", .buyer = "buyer", .timeout_ms = 1000, .units = 1, .second = "" },
        .database = "",
        .product = "dryer",
        .products = 1,
        .pause_ms = 20,
        .orders = 1,
        .wait_ms = 10000
    };
    read_arguments(&self, arguments + (count > 0 ? 1 : 0));
    lock_open(&self.lock, self.database);
    say("ready", 0);
    /* Buyers that start together must not draw alike. */
    if (getrandom(&chance, sizeof chance, 0) != sizeof chance) {
        fail("no chance from", "getrandom");
    }
    if (!wait_for_word()) {
        return 1;
    }
    for (int64_t number = 0; !clock_is_over() && number < self.orders; number++) {
        place_order(&self, number);
    }
    say("done", 0);
    /* A buyer that forgets its lock lives on. */
    while (self.forget != 0 && !clock_is_over()) {
        clock_pause_ms(1000);
    }
    return 0;
}
