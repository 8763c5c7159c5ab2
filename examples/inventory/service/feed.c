#include "feed.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

enum { PAUSE_US = 500000, ORDERS_SHOWN = 20, WITHIN_MS = 2000 };

struct feed {
    shop *of;
    http *to;
    const char *database_at;
    bool demonstration;
    database *connection;
    atomic_bool stopping;
    pthread_t thread;
};

/* ---- Queues ---------------------------------------------------------------------------------- */

static json_t *contender_value(const zkl_contender *one, int segment) {
    return json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:i}", "node", one->node, "kind",
                     zkl_lock_mode_name((int)one->mode), "holds", one->holds, "order",
                     one->identity.owner, "instance", one->identity.label, "process",
                     one->identity.process_id, "age_ms", (json_int_t)one->age_ms, "token",
                     (json_int_t)one->token, "segment", segment);
}

/* Adds the queue of a segment. False: the ensemble did not answer. */
static bool add_queue(const feed *self, const product *one, int segment, json_t *to) {
    char path[SHOP_PATH_SIZE];
    zkl_queue *queue = NULL;
    shop_write_path(path, self->of, one->sku, segment);
    bool is_known = zkl_queue_describe(self->of->client, path, WITHIN_MS, &queue) == ZKL_OK;
    for (size_t i = 0; is_known && i < queue->count; i++) {
        json_t *value = contender_value(queue->contenders[i], segment);
        if (value != NULL) { /* what others have written may be no UTF-8 */
            json_array_append_new(to, value);
        }
    }
    zkl_report_free(queue);
    return is_known;
}

/* ---- The event ------------------------------------------------------------------------------- */

typedef struct draft {
    const feed *feed;
    bool with_queues; /* the ensemble answers */
    json_t *products;
    json_t *orders;
    json_t *instances;
} draft;

/* Makes the queue of a product; a JSON null if it is not known. After one queue that did not come,
 * no other is asked for. */
static json_t *queue_of(draft *self, const product *one) {
    json_t *queue = json_array();
    for (int i = 0; i < one->segments && self->with_queues && !self->feed->stopping; i++) {
        self->with_queues = add_queue(self->feed, one, i, queue);
    }
    if (!self->with_queues) {
        json_decref(queue);
        queue = json_null();
    }
    return queue;
}

static void add_product(void *arg, const product *one) {
    draft *self = arg;
    json_array_append_new(self->products,
                          json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:o}", "sku", one->sku, "name",
                                    one->name, "segments", one->segments, "stocked",
                                    (json_int_t)one->stocked, "left", (json_int_t)one->left, "sold",
                                    (json_int_t)one->sold, "queue", queue_of(self, one)));
}

static void add_order(void *arg, const order_record *one, int64_t units) {
    draft *self = arg;
    json_array_append_new(self->orders,
                          json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "key", one->key, "buyer",
                                    one->buyer, "instance", one->instance, "content", one->content,
                                    "units", (json_int_t)units, "token", (json_int_t)one->token));
}

static void add_instance(void *arg, const char *name, const char *url, int64_t beat) {
    draft *self = arg;
    json_array_append_new(self->instances, json_pack("{s:s, s:s, s:I}", "name", name, "url", url,
                                                     "beat", (json_int_t)beat));
}

static void feed_tell(feed *self) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    const char *health = shop_health(self->of);
    (void)zkl_client_info(self->of->client, &information);
    draft now = { .feed = self,
                  .with_queues = strcmp(health, "ok") == 0,
                  .products = json_array(),
                  .orders = json_array(),
                  .instances = json_array() };
    bool is_whole =
        store_list_products(self->connection, add_product, &now) == STORE_OK &&
        store_list_orders(self->connection, ORDERS_SHOWN, add_order, &now) == STORE_OK &&
        store_list_instances(self->connection, add_instance, &now) == STORE_OK;
    json_t *value = json_pack("{s:s, s:b, s:s, s:i, s:o, s:o, s:o}", "instance", self->of->instance,
                              "demonstration", self->demonstration, "locks", health,
                              "session_timeout_ms", (int)information.session_timeout_ms, "products",
                              now.products, "orders", now.orders, "instances", now.instances);
    char *text = json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(value);
    if (text != NULL && is_whole) { /* otherwise the page says that it hears nothing */
        http_tell(self->to, "state", text);
    }
    free(text);
}

static bool has_connection(feed *self) {
    if (self->connection == NULL &&
        database_open(self->database_at, &self->connection) != DATABASE_OK) {
        database_close(self->connection);
        self->connection = NULL;
    }
    return self->connection != NULL;
}

static void *feed_run(void *arg) {
    feed *self = arg;
    while (!self->stopping) {
        if (has_connection(self) && http_streams(self->to) > 0 && self->of->client != NULL) {
            feed_tell(self);
        }
        (void)usleep(PAUSE_US);
    }
    if (self->connection != NULL && shop_can_write(self->of)) {
        (void)store_forget_instance(self->connection, self->of->instance);
    }
    database_close(self->connection);
    return NULL;
}

feed *feed_start(shop *of, http *to, const char *database_at, bool demonstration) {
    feed *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    self->of = of;
    self->to = to;
    self->database_at = database_at;
    self->demonstration = demonstration;
    if (pthread_create(&self->thread, NULL, feed_run, self) != 0) {
        free(self);
        return NULL;
    }
    return self;
}

void feed_stop(feed *self) {
    if (self != NULL) {
        self->stopping = true;
        pthread_join(self->thread, NULL);
        free(self);
    }
}
