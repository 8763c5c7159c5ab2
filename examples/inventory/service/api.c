#include "api.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "demonstration.h"
#include "inquiry.h"
#include "journal.h"
#include "page.h"

enum { ERROR_SIZE = 256, METRICS_SIZE = 64 * 1024, RETRY_AFTER_S = 1, TRIAL_MAX_MS = 60000 };

static const char type_json[] = "application/json";

static void answer_json(exchange *to, unsigned status, json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(value);
    exchange_answer(to, status, type_json, text, status == 503 ? RETRY_AFTER_S : 0);
}

static void answer_error(exchange *to, unsigned status, const char *reason, const char *message) {
    answer_json(to, status, json_pack("{s:s, s:s}", "reason", reason, "error", message));
}

/* ---- Input ----------------------------------------------------------------------------------- */

/* Tells whether a text is a name: letters, digits and -_. so that it can also name a node. */
static bool is_name(const char *text, size_t longest) {
    size_t length = text != NULL ? strlen(text) : 0;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL) {
            return false;
        }
    }
    return length > 0 && length <= longest && text[0] != '.';
}

static bool is_text(const char *text, size_t longest) {
    return text != NULL && text[0] != '\0' && strlen(text) <= longest;
}

/* Reads a line of an order. Returns the rule that it breaks; NULL: none. */
static const char *read_line(const json_t *from, order_line *line) {
    const char *sku = json_string_value(json_object_get(from, "sku"));
    const json_t *units = json_object_get(from, "units");
    if (!is_name(sku, SKU_MAX)) {
        return "sku: must be 1 to 64 letters, digits, or -_. (not a dot at first)";
    }
    if (!json_is_integer(units) || json_integer_value(units) < 1 ||
        json_integer_value(units) > UNITS_MAX) {
        return "units: must be a whole number from 1 to 1000000";
    }
    (void)snprintf(line->sku, sizeof(line->sku), "%s", sku);
    line->units = json_integer_value(units);
    return NULL;
}

static bool has_line(const order *one, const char *sku) {
    for (size_t i = 0; i < one->line_count; i++) {
        if (strcmp(one->lines[i].sku, sku) == 0) {
            return true;
        }
    }
    return false;
}

static const char *read_lines(const json_t *from, order *one) {
    const json_t *lines = json_object_get(from, "lines");
    size_t count = json_array_size(lines);
    if (lines == NULL) {
        one->line_count = 1;
        return read_line(from, &one->lines[0]);
    }
    if (count < 1 || count > LINES_MAX) {
        return "lines: must be an array of 1 to 16 objects with sku and units";
    }
    for (size_t i = 0; i < count; i++) {
        const char *rule = read_line(json_array_get(lines, i), &one->lines[i]);
        if (rule != NULL || has_line(one, one->lines[i].sku)) {
            return rule != NULL ? rule : "lines: no two may have the same sku";
        }
        one->line_count++;
    }
    return NULL;
}

static int compare_lines(const void *one, const void *other) {
    return strcmp(((const order_line *)one)->sku, ((const order_line *)other)->sku);
}

/* Sorts the lines by name and writes them as text: so the same order has the same text, however it
 * was written, and rows of the database are always locked in one order. */
static void write_content(order *one) {
    qsort(one->lines, one->line_count, sizeof(one->lines[0]), compare_lines);
    char *content = one->record.content;
    size_t used = 0;
    for (size_t i = 0; i < one->line_count; i++) {
        used +=
            (size_t)snprintf(content + used, sizeof(one->record.content) - used, "%s%s:%lld",
                             i > 0 ? "," : "", one->lines[i].sku, (long long)one->lines[i].units);
    }
}

static bool is_time(const json_t *ms) {
    return ms == NULL || (json_is_integer(ms) && json_integer_value(ms) >= 0 &&
                          json_integer_value(ms) <= TRIAL_MAX_MS);
}

/* Reads what makes an order a trial. */
static const char *read_trial(const json_t *from, bool allowed, trial *one) {
    const json_t *lock = json_object_get(from, "lock");
    const json_t *think = json_object_get(from, "think_ms");
    const json_t *name = json_object_get(from, "harm");
    const json_t *harm_ms = json_object_get(from, "harm_ms");
    if ((lock != NULL || think != NULL || name != NULL || harm_ms != NULL) && !allowed) {
        return "lock, think_ms, harm, harm_ms: this service is no demonstration";
    }
    if ((lock != NULL && !json_is_boolean(lock)) || !is_time(think) || !is_time(harm_ms)) {
        return "lock: must be true or false; think_ms, harm_ms: must be a number from 0 to 60000";
    }
    if (name != NULL && !harm_find(json_string_value(name), &one->harm)) {
        return "harm: must be stop, kill, cut_zookeeper or cut_database";
    }
    one->without_lock = json_is_false(lock);
    one->think_ms = json_integer_value(think);
    one->harm_ms = json_integer_value(harm_ms);
    return NULL;
}

static const char *read_order(const json_t *from, bool is_restock, order *one) {
    const char *key = json_string_value(json_object_get(from, "key"));
    const char *buyer = json_string_value(json_object_get(from, "buyer"));
    if (!is_name(key, KEY_MAX)) {
        return "key: must be 1 to 64 letters, digits, or -_. (not a dot at first), and new for "
               "each "
               "order";
    }
    if (!is_text(buyer, NAME_MAX_BYTES)) {
        return "buyer: must be a text of at most 200 bytes";
    }
    (void)snprintf(one->record.key, sizeof(one->record.key), "%s", key);
    (void)snprintf(one->record.buyer, sizeof(one->record.buyer), "%s", buyer);
    const char *rule = read_lines(from, one);
    if (rule == NULL && is_restock && one->line_count != 1) {
        rule = "a restock is of one product";
    }
    if (rule == NULL && is_restock) {
        one->lines[0].units *= -1;
    }
    write_content(one);
    return rule;
}

/* ---- Orders ---------------------------------------------------------------------------------- */

typedef struct pending {
    trial trial; /* first; it begins with the order */
    api *api;
    exchange *to;
} pending;

typedef struct answer {
    unsigned status;
    const char *reason;
    const char *message; /* NULL: no error */
} answer;

static const answer answers[] = {
    [OUTCOME_PLACED] = { 201, "placed", NULL },
    [OUTCOME_REPEATED] = { 200, "placed", NULL },
    [OUTCOME_OTHER] = { 422, "key_used", "this key was used for another order" },
    [OUTCOME_NO_PRODUCT] = { 404, "no_product", "there is no such product" },
    [OUTCOME_TOO_WIDE] = { 422, "too_wide",
                           "the products of an order may have 64 segments together" },
    [OUTCOME_SOLD_OUT] = { 409, "sold_out", "too little is left" },
    [OUTCOME_BUSY] = { 503, "busy", "others were served first: try again, with the same key" },
    [OUTCOME_UNAVAILABLE] = { 503, "unavailable",
                              "locks cannot be taken at the moment: try again, with the same key" },
    [OUTCOME_FAILED] = { 503, "failed",
                         "the database has failed, and what became of it is not known: try again, "
                         "with the same key" },
};

static json_t *api_value_of(const order *one) {
    const answer *how = &answers[one->outcome];
    json_t *value = json_pack("{s:s, s:s}", "order", one->record.key, "reason", how->reason);
    if (how->message != NULL) {
        json_object_set_new(value, "error", json_string(how->message));
    } else {
        json_object_set_new(value, "token", json_integer(one->record.token));
    }
    if (one->about[0] != '\0') {
        json_object_set_new(value, "sku", json_string(one->about));
    }
    if (one->fenced_off > 0) {
        json_object_set_new(value, "fenced_off",
                            json_pack("{s:i, s:I, s:I}", "times", one->fenced_off, "token",
                                      (json_int_t)one->refused_token, "fence",
                                      (json_int_t)one->refused_by));
    }
    return value;
}

static void on_served(order *one) {
    pending *self = (pending *)one;
    api *of = self->api;
    journal("answered", "order", one->record.key, "reason", answers[one->outcome].reason);
    of->answered[one->outcome]++;
    answer_json(self->to, answers[one->outcome].status, api_value_of(one));
    of->waiting--; /* last, as the service ends when nobody waits */
    free(self);
}

/* Returns why a request is turned away now; NULL: it is not. Writes are while locks may be lost, as
 * nothing that they read would be sure. */
static const char *turned_away(const api *self) {
    if (!workers_are_ready(self->shop->workers)) {
        return "the database was not reached yet";
    }
    if (strcmp(shop_health(self->shop), "ok") != 0) {
        return "there is no connection to the ensemble";
    }
    return self->waiting >= self->waiting_max ? "too many are waiting" : NULL;
}

static void place(api *self, const json_t *from, bool is_restock, exchange *to) {
    const char *why = turned_away(self);
    pending *made = why == NULL ? calloc(1, sizeof(*made)) : NULL;
    if (made == NULL) {
        answer_error(to, 503, "unavailable", why != NULL ? why : "out of memory");
        return;
    }
    *made = (pending){ .api = self, .to = to, .trial = { .hosts = self->hosts } };
    order *one = &made->trial.order;
    one->done = on_served;
    const char *rule = read_order(from, is_restock, one);
    rule = rule != NULL ? rule : read_trial(from, self->demonstration, &made->trial);
    if (rule != NULL) {
        answer_error(to, 400, "bad_request", rule);
        free(made);
        return;
    }
    trial_prepare(&made->trial);
    self->waiting++;
    shop_serve(self->shop, one);
}

/* ---- Products -------------------------------------------------------------------------------- */

static json_t *product_value(const product *one) {
    return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I}", "sku", one->sku, "name", one->name,
                     "segments", one->segments, "stocked", (json_int_t)one->stocked, "left",
                     (json_int_t)one->left, "sold", (json_int_t)one->sold);
}

typedef struct task {
    job work; /* first */
    api *api;
    exchange *to;
    product given;
    int64_t asked_ms;
} task;

static void end_task(task *self) {
    self->api->waiting--; /* last, as for orders */
    free(self);
}

static void tell_product(void *arg, const product *one) {
    json_array_append_new(arg, product_value(one));
}

static void list_products(job *work, database *connection) {
    task *self = (task *)work;
    json_t *all = json_array();
    if (!shop_is_too_late(self->api->shop, self->asked_ms) &&
        store_list_products(connection, tell_product, all) == STORE_OK) {
        answer_json(self->to, 200, json_pack("{s:o}", "products", all));
    } else {
        json_decref(all);
        answer_error(self->to, 503, "unavailable", "the database cannot be read");
    }
    end_task(self);
}

static void add_product(job *work, database *connection) {
    task *self = (task *)work;
    switch (shop_is_too_late(self->api->shop, self->asked_ms)
                ? STORE_ERROR
                : store_add_product(connection, &self->given)) {
    case STORE_OK:
        answer_json(self->to, 201, json_pack("{s:s}", "sku", self->given.sku));
        break;
    case STORE_EXISTS:
        answer_error(self->to, 409, "exists", "there is such a product already");
        break;
    default:
        answer_error(self->to, 503, "unavailable", "the database cannot be written");
        break;
    }
    end_task(self);
}

static void begin_task(api *self, void (*run)(job *work, database *connection),
                       const product *given, exchange *to) {
    task *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        answer_error(to, 503, "unavailable", "out of memory");
        return;
    }
    *made = (task){ .work = { .run = run }, .api = self, .to = to, .asked_ms = shop_now_ms() };
    if (given != NULL) {
        made->given = *given;
    }
    self->waiting++;
    if (!workers_are_ready(self->shop->workers) ||
        !workers_add(self->shop->workers, &made->work, false)) {
        answer_error(to, 503, "unavailable", "the database was not reached yet");
        end_task(made);
    }
}

static void place_product(api *self, const json_t *from, exchange *to) {
    product one = { .segments = 1 };
    order_line line;
    const char *name = json_string_value(json_object_get(from, "name"));
    const json_t *segments = json_object_get(from, "segments");
    const char *rule = read_line(from, &line);
    if (rule == NULL && !is_text(name, NAME_MAX_BYTES)) {
        rule = "name: must be a text of at most 200 bytes";
    }
    if (segments != NULL) {
        json_int_t count = json_integer_value(segments);
        one.segments = (int)count;
        if (count < 1 || count > SEGMENTS_MAX) {
            rule = "segments: must be a number from 1 to 32";
        }
    }
    if (rule != NULL) {
        answer_error(to, 400, "bad_request", rule);
        return;
    }
    one.stocked = line.units;
    (void)snprintf(one.sku, sizeof(one.sku), "%s", line.sku);
    (void)snprintf(one.name, sizeof(one.name), "%s", name);
    begin_task(self, add_product, &one, to);
}

typedef struct pending_inquiry {
    inquiry inquiry; /* first */
    api *api;
    exchange *to;
} pending_inquiry;

static void api_on_read(inquiry *one) {
    pending_inquiry *self = (pending_inquiry *)one;
    const answer *how = &answers[one->outcome];
    if (one->outcome == OUTCOME_PLACED) {
        answer_json(self->to, 200, product_value(&one->found));
    } else {
        answer_error(self->to, how->status, how->reason, how->message);
    }
    self->api->waiting--; /* last, as for orders */
    free(self);
}

static void inquire(api *self, const char *sku, exchange *to) {
    const char *why = turned_away(self);
    pending_inquiry *made = why == NULL && is_name(sku, SKU_MAX) ? calloc(1, sizeof(*made)) : NULL;
    if (made == NULL) {
        answer_error(to, why != NULL ? 503 : 404, why != NULL ? "unavailable" : "no_product",
                     why != NULL ? why : "there is no such product");
        return;
    }
    *made = (pending_inquiry){ .api = self, .to = to, .inquiry = { .done = api_on_read } };
    (void)snprintf(made->inquiry.found.sku, sizeof(made->inquiry.found.sku), "%s", sku);
    self->waiting++;
    inquiry_serve(&made->inquiry, self->shop);
}

/* ---- For operators --------------------------------------------------------------------------- */

static void tell_health(const api *self, exchange *to) {
    bool is_ready = workers_are_ready(self->shop->workers);
    const char *health = is_ready ? shop_health(self->shop) : "starting";
    bool can_write = shop_can_write(self->shop);
    answer_json(to, strcmp(health, "ok") == 0 && can_write ? 200 : 503,
                json_pack("{s:s, s:s, s:s, s:i}", "locks", health, "database",
                          can_write ? "ok" : "failed", "instance", self->shop->instance, "waiting",
                          (int)self->waiting));
}

static void tell_metrics(const api *self, exchange *to) {
    char *page = malloc(METRICS_SIZE);
    size_t length = 0;
    zkl_client *client = self->shop->client;
    if (page == NULL || client == NULL ||
        zkl_client_metrics(client, page, METRICS_SIZE - 4096, &length) != ZKL_OK) {
        length = 0;
    }
    if (page == NULL) {
        answer_error(to, 503, "unavailable", "out of memory");
        return;
    }
    length += (size_t)snprintf(page + length, METRICS_SIZE - length,
                               "# TYPE inventory_orders_total counter\n");
    for (size_t i = 0; i <= OUTCOME_FAILED; i++) {
        length += (size_t)snprintf(page + length, METRICS_SIZE - length,
                                   "inventory_orders_total{status=\"%u\",reason=\"%s\"} %ld\n",
                                   answers[i].status, answers[i].reason, (long)self->answered[i]);
    }
    (void)snprintf(page + length, METRICS_SIZE - length,
                   "# TYPE inventory_waiting gauge\ninventory_waiting %d\n", (int)self->waiting);
    exchange_answer(to, 200, "text/plain; version=0.0.4", page, 0);
}

/* ---- Which is which -------------------------------------------------------------------------- */

/* Tells whether the type is JSON, which a browser sends to another origin only after it has asked.
 * So no stranger's page places an order in the name of its visitor. */
static bool is_json(const char *type) {
    size_t length = sizeof(type_json) - 1;
    return strncasecmp(type, type_json, length) == 0 && strchr("; \t", type[length]) != NULL;
}

static void handle_post(api *self, const http_request *request, exchange *to) {
    bool is_order = strcmp(request->path, "/orders") == 0;
    bool is_restock = strcmp(request->path, "/restock") == 0;
    bool is_product = strcmp(request->path, "/products") == 0;
    json_error_t error;
    char message[ERROR_SIZE];
    if (!is_order && !is_restock && !is_product) {
        answer_error(to, 404, "no_such_path", "POST goes to /orders, /restock or /products");
        return;
    }
    if (!is_json(request->type)) {
        answer_error(to, 415, "bad_type", "the Content-Type must be application/json");
        return;
    }
    json_t *from = json_loadb(request->body, request->size, JSON_REJECT_DUPLICATES, &error);
    if (from == NULL || !json_is_object(from)) {
        (void)snprintf(message, sizeof(message), "the body must be a JSON object: %s",
                       from == NULL ? error.text : "it is another value");
        answer_error(to, 400, "bad_request", message);
    } else if (is_product) {
        place_product(self, from, to);
    } else {
        place(self, from, is_restock, to);
    }
    json_decref(from);
}

static void handle_get(api *self, const http_request *request, exchange *to) {
    static const char products[] = "/products/";
    if (self->has_page && strcmp(request->path, "/") == 0) {
        exchange_answer(to, 200, "text/html; charset=utf-8", strdup(page_html), 0);
    } else if (strcmp(request->path, "/health") == 0) {
        tell_health(self, to);
    } else if (strcmp(request->path, "/metrics") == 0) {
        tell_metrics(self, to);
    } else if (self->has_page && strcmp(request->path, "/events") == 0) {
        exchange_stream(to, self->http);
    } else if (strcmp(request->path, "/products") == 0) {
        begin_task(self, list_products, NULL, to);
    } else if (strncmp(request->path, products, sizeof(products) - 1) == 0) {
        inquire(self, request->path + sizeof(products) - 1, to);
    } else {
        answer_error(to, 404, "no_such_path", "there is nothing here");
    }
}

void api_handle(void *arg, const http_request *request, exchange *of) {
    if (strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0) {
        handle_get(arg, request, of);
    } else if (strcmp(request->method, "POST") == 0) {
        handle_post(arg, request, of);
    } else if (strcmp(request->method, "OPTIONS") == 0) {
        exchange_allow(of);
    } else {
        answer_error(of, 405, "bad_method", "only GET, HEAD, POST and OPTIONS are known");
    }
}
