#include "shop.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "journal.h"

enum { PULSE_MS = 1000, SILENT_MS = 4000 };

int64_t shop_now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The ensemble ---------------------------------------------------------------------------- */

const char *shop_health(shop *self) {
    zkl_client_information now = ZKL_CLIENT_INFORMATION_INIT;
    zkl_client *client = self->client;
    if (client == NULL || zkl_client_info(client, &now) != ZKL_OK) {
        return "lost";
    }
    if (now.connected) {
        self->connected_ms = shop_now_ms();
        return "ok";
    }
    bool is_over =
        now.session_id == 0 || shop_now_ms() - self->connected_ms > now.session_timeout_ms;
    return is_over ? "lost" : "suspect";
}

outcome shop_outcome_of(int status) {
    return status == ZKL_TIMEOUT || status == ZKL_TOO_MANY_REQUESTS ? OUTCOME_BUSY
                                                                    : OUTCOME_UNAVAILABLE;
}

int64_t shop_patience_left_ms(const shop *self, int64_t asked_ms) {
    return self->patience_ms - (shop_now_ms() - asked_ms);
}

bool shop_is_too_late(const shop *self, int64_t asked_ms) {
    return shop_patience_left_ms(self, asked_ms) <= 0;
}

void shop_write_path(char path[SHOP_PATH_SIZE], const shop *self, const char *sku, int segment) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(self->client, &information);
    (void)snprintf(path, SHOP_PATH_SIZE, "%s/%s/" ZKL_STRIPE_NODE, information.lock_root, sku,
                   segment);
}

/* ---- The database ---------------------------------------------------------------------------- */

/* Writes to the database, in a worker, so that it meets what orders meet: a full disk, a stopped
 * server, a database that somebody has locked, or workers that are all stuck. */
static void pulse(job *work, database *connection) {
    shop *self = (shop *)((char *)work - offsetof(shop, pulse));
    bool could_write = self->wrote_ms > 0;
    bool can_write =
        store_note_instance(connection, self->instance, self->url, self->pulsed_ms) == STORE_OK;
    if (!can_write && could_write) {
        journal("database_failed", "why", database_error(connection));
    }
    self->wrote_ms = can_write ? shop_now_ms() : 0;
    self->is_pulsing = false;
}

void shop_look_at_database(shop *self) {
    if (self->is_pulsing || shop_now_ms() - self->pulsed_ms < PULSE_MS) {
        return;
    }
    self->is_pulsing = true;
    self->pulsed_ms = shop_now_ms();
    self->pulse.run = pulse;
    if (!workers_add(self->workers, &self->pulse,
                     true)) { /* if it was taken, it may be over already */
        self->is_pulsing = false;
    }
}

bool shop_can_write(const shop *self) {
    return self->wrote_ms > 0 && shop_now_ms() - self->wrote_ms < SILENT_MS;
}

/* ---- An order: its end ----------------------------------------------------------------------- */

static void order_finish(order *self, outcome what) {
    zkl_lock_close(self->lock); /* releases */
    self->lock = NULL;
    self->outcome = what;
    self->done(self);
}

static void fail_with(order *self, const char *what, const char *why) {
    journal("failed", "order", self->record.key, "what", what, "why", why);
    order_finish(self, OUTCOME_FAILED);
}

void shop_fail(order *self, const char *what, database *connection) {
    fail_with(self, what, database_error(connection));
}

static void finish_about(order *self, outcome what, const order_line *line) {
    (void)snprintf(self->about, sizeof(self->about), "%s", line->sku);
    order_finish(self, what);
}

/* Gives the next step of an order to a worker; ends the order if the workers have stopped. Steps of
 * a holder, which others wait for, come before orders that have not asked yet. */
static void go_on(order *self, void (*step)(job *work, database *connection), bool holds) {
    self->work.run = step;
    if (!workers_add(self->shop->workers, &self->work, holds)) {
        order_finish(self, OUTCOME_UNAVAILABLE);
    }
}

/* ---- 1. From which segments ------------------------------------------------------------------ */

/* Chooses a segment of a product that seems to have enough. It begins with one that depends on the
 * order, so that buyers spread. False: no segment has enough. */
static bool choose_one(order *self, size_t line, const int64_t left[SEGMENTS_MAX], int segments) {
    const order_line *wanted = &self->lines[line];
    unsigned begin = 0;
    for (const char *letter = self->record.key; *letter != '\0'; letter++) {
        begin = begin * 31 + (unsigned char)*letter;
    }
    for (int i = 0; i < segments; i++) {
        int segment = (int)((begin + (unsigned)i) % (unsigned)segments);
        if (left[segment] >= wanted->units) {
            self->parts[self->part_count++] =
                (part){ .line = line, .sku = wanted->sku, .segment = segment };
            return true;
        }
    }
    return false;
}

static void choose_all(order *self, size_t line, int segments) {
    for (int i = 0; i < segments; i++) {
        self->parts[self->part_count++] =
            (part){ .line = line, .sku = self->lines[line].sku, .segment = i };
    }
}

static int count_segments(const int64_t left[SEGMENTS_MAX]) {
    int count = 0;
    while (count < SEGMENTS_MAX && left[count] >= 0) {
        count++;
    }
    return count;
}

/* Chooses the segments to lock. What is left is only a hint, and is read again under the lock. A
 * restock takes all segments. Whether an order is too wide must not depend on what is left. False:
 * the order is finished. */
static bool choose(order *self, database *connection) {
    int all_segments = 0;
    self->part_count = 0;
    for (size_t i = 0; i < self->line_count; i++) {
        const order_line *line = &self->lines[i];
        int64_t left[SEGMENTS_MAX];
        if (store_look_at_segments(connection, line->sku, left) != STORE_OK) {
            shop_fail(self, "look at segments", connection);
            return false;
        }
        int segments = count_segments(left);
        all_segments += segments;
        if (segments == 0 || all_segments > PARTS_MAX) {
            finish_about(self, segments == 0 ? OUTCOME_NO_PRODUCT : OUTCOME_TOO_WIDE, line);
            return false;
        }
        if (self->takes_all || line->units < 0 || !choose_one(self, i, left, segments)) {
            choose_all(self, i, segments);
        }
    }
    self->takes_all = self->part_count == (size_t)all_segments;
    return true;
}

/* ---- 2. The locks ---------------------------------------------------------------------------- */

static void on_granted(void *arg, int status, const zkl_grant *grant);

static int order_ask(order *self) {
    char paths[PARTS_MAX][SHOP_PATH_SIZE];
    zkl_lock_member members[PARTS_MAX];
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.owner = self->record.key;
    options.resource_class = "order";
    for (size_t i = 0; i < self->part_count; i++) {
        shop_write_path(paths[i], self->shop, self->parts[i].sku, self->parts[i].segment);
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        members[i].resource = paths[i];
        members[i].mode = self->shop->has_plain_locks ? ZKL_EXCLUSIVE : ZKL_WRITE;
    }
    int64_t left_ms = shop_patience_left_ms(self->shop, self->asked_ms);
    int status = left_ms > 0 ? zkl_lock_open_set(self->shop->client, members, self->part_count,
                                                 &options, &self->lock)
                             : ZKL_TIMEOUT;
    /* From here on another thread may have the order: granted, finished and freed. */
    return status == ZKL_OK
               ? zkl_lock_acquire_async(self->lock, ZKL_AS_OPENED, left_ms, NULL, on_granted, self)
               : status;
}

void shop_ask(job *work, database *connection) {
    order *self = (order *)work;
    (void)connection;
    zkl_lock_close(self->lock);
    self->lock = NULL;
    journal("asked", "order", self->record.key, "segments",
            journal_number((int64_t)self->part_count));
    int status = order_ask(self);
    if (status != ZKL_OK) {
        journal("not_asked", "order", self->record.key, "why", zkl_strerror(status));
        order_finish(self, shop_outcome_of(status));
    }
}

static void sell(job *work, database *connection);

/* Takes the answer to the acquire, on the client's thread: a worker does anything slow. */
static void on_granted(void *arg, int status, const zkl_grant *grant) {
    order *self = arg;
    if (status != ZKL_OK) {
        journal("not_granted", "order", self->record.key, "why", zkl_error_message());
        order_finish(self, shop_outcome_of(status));
        return;
    }
    self->record.token = grant->token;
    journal("granted", "order", self->record.key, "token", journal_number(grant->token), "node",
            grant->node, "waited_ms", journal_number(grant->waited_ms));
    go_on(self, self->sell != NULL ? self->sell : sell, true);
}

/* ---- 3. Selling ------------------------------------------------------------------------------ */

static int64_t left_of(const order *self, size_t line) {
    int64_t left = 0;
    for (size_t i = 0; i < self->part_count; i++) {
        left += self->parts[i].line == line ? self->parts[i].quantity : 0;
    }
    return left;
}

static void take_from(part *one, int64_t *units) {
    one->takes = *units < one->quantity ? *units : one->quantity;
    *units -= one->takes;
}

/* Decides from which segments each line takes its units. A restock spreads its own over all
 * segments. False: too little is left. */
static bool order_decide(order *self) {
    for (size_t line = 0; line < self->line_count; line++) {
        int64_t units = self->lines[line].units;
        if (units > 0 && left_of(self, line) < units) {
            (void)snprintf(self->about, sizeof(self->about), "%s", self->lines[line].sku);
            return false;
        }
        for (size_t i = 0; i < self->part_count && units > 0; i++) {
            if (self->parts[i].line == line) {
                take_from(&self->parts[i], &units);
            }
        }
        int64_t parts = (int64_t)self->part_count; /* a restock has all of them */
        for (int64_t i = 0; units < 0 && i < parts; i++) {
            self->parts[i].takes = units / parts - (i < -units % parts ? 1 : 0);
        }
    }
    return true;
}

/* Chooses the order's parts, and asks for their locks. */
static void begin(order *self, database *connection) {
    if (choose(self, connection)) {
        (self->ask != NULL ? self->ask : shop_ask)(&self->work, connection);
    }
}

/* Finds the product of the order that the latest holder has claimed. */
static store_status find_fence(order *self, database *connection, const char **sku) {
    store_status status = STORE_OK;
    *sku = self->lines[0].sku;
    self->refused_by = 0;
    for (size_t i = 0; i < self->line_count && status == STORE_OK; i++) {
        int64_t fence = 0;
        status = store_find_fence(connection, self->lines[i].sku, &fence);
        if (fence > self->refused_by) {
            self->refused_by = fence;
            *sku = self->lines[i].sku;
        }
    }
    return status;
}

/* Begins again (4.), as the store has seen a later holder. If that happens again and again the
 * tokens are wrong. */
static void on_fenced_off(order *self, database *connection) {
    const char *sku = NULL;
    if (find_fence(self, connection, &sku) != STORE_OK) {
        shop_fail(self, "look for the fence", connection);
        return;
    }
    self->fenced_off++;
    self->refused_token = self->record.token;
    (void)store_note_refusal(connection, sku, &self->record, self->refused_by);
    journal("fenced_off", "order", self->record.key, "token", journal_number(self->record.token),
            "fence", journal_number(self->refused_by));
    if (self->fenced_off < SHOP_FENCED_OFF_MAX) {
        begin(self, connection);
    } else {
        fail_with(self, "fenced off", "was the ensemble emptied, and its tokens begin anew?");
    }
}

/* Ends an order whose key was used meanwhile: perhaps by this very order, whose reply was lost. */
static void on_known(order *self, const order_record *known) {
    bool is_same = strcmp(known->content, self->record.content) == 0 &&
                   strcmp(known->buyer, self->record.buyer) == 0;
    self->record.token = known->token;
    order_finish(self, is_same ? OUTCOME_REPEATED : OUTCOME_OTHER);
}

/* Begins again with all segments (5.), which may have enough. If they have not, the last units may
 * be this order's own, which another request with its key has placed meanwhile. */
static void on_too_little(order *self, database *connection) {
    order_record known;
    if (!self->takes_all) {
        self->takes_all = true;
        begin(self, connection);
        return;
    }
    switch (store_find_order(connection, self->record.key, &known)) {
    case STORE_OK:
        on_known(self, &known);
        break;
    case STORE_NOT_FOUND:
        order_finish(self, OUTCOME_SOLD_OUT);
        break;
    default:
        shop_fail(self, "look for the order", connection);
        break;
    }
}

static void on_written(order *self, database *connection, store_status status) {
    order_record known;
    switch (status) {
    case STORE_OK:
        self->shop->wrote_ms = shop_now_ms();
        journal("written", "order", self->record.key, "token", journal_number(self->record.token));
        order_finish(self, OUTCOME_PLACED);
        break;
    case STORE_FENCED_OFF:
        on_fenced_off(self, connection);
        break;
    case STORE_EXISTS:
        if (store_find_order(connection, self->record.key, &known) == STORE_OK) {
            on_known(self, &known);
            break;
        }
        /* fall through */
    default:
        shop_fail(self, "write", connection);
        break;
    }
}

bool shop_claim(order *self, database *connection) {
    if (shop_is_too_late(self->shop, self->asked_ms)) {
        order_finish(self, OUTCOME_BUSY);
        return false;
    }
    store_status status =
        store_claim(connection, self->record.token, self->parts, self->part_count);
    if (status != STORE_OK) {
        on_written(self, connection, status);
    }
    return status == STORE_OK;
}

bool shop_decide(order *self, database *connection) {
    bool is_enough = order_decide(self);
    if (!is_enough) {
        on_too_little(self, connection);
    }
    return is_enough;
}

void shop_write(order *self, database *connection) {
    on_written(self, connection,
               store_write(connection, &self->record, self->lines, self->parts, self->part_count));
}

static void sell(job *work, database *connection) {
    order *self = (order *)work;
    if (shop_claim(self, connection) && shop_decide(self, connection)) {
        shop_write(self, connection);
    }
}

static void order_prepare(job *work, database *connection) {
    order *self = (order *)work;
    order_record known;
    if (shop_is_too_late(self->shop, self->asked_ms)) {
        order_finish(self, OUTCOME_BUSY);
        return;
    }
    store_status status = store_find_order(connection, self->record.key, &known);
    if (status == STORE_OK) {
        on_known(self, &known);
    } else if (status != STORE_NOT_FOUND) {
        shop_fail(self, "look for the order", connection);
    } else {
        begin(self, connection);
    }
}

void shop_serve(shop *self, order *one) {
    one->shop = self;
    one->asked_ms = shop_now_ms();
    (void)snprintf(one->record.instance, sizeof(one->record.instance), "%s", self->instance);
    go_on(one, order_prepare, false);
}
