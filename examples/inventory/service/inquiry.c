#include "inquiry.h"

#include <stddef.h>

static void finish_inquiry(inquiry *self, outcome what) {
    zkl_lock_close(self->lock);
    self->lock = NULL;
    self->outcome = what;
    self->done(self);
}

static void go_on_reading(inquiry *self, void (*step)(job *work, database *connection),
                          bool holds) {
    self->work.run = step;
    if (!workers_add(self->shop->workers, &self->work, holds)) {
        finish_inquiry(self, OUTCOME_UNAVAILABLE);
    }
}

static void ask_to_read(inquiry *self);

/* Reads a product. A reader does not raise the fence: after its last read it only makes sure that
 * no later writer has claimed anything in between. */
static void read_product(job *work, database *connection) {
    inquiry *self = (inquiry *)work;
    int64_t fence = 0;
    if (shop_is_too_late(self->shop, self->asked_ms)) {
        finish_inquiry(self, OUTCOME_BUSY);
        return;
    }
    store_status status = store_find_product(connection, self->found.sku, &self->found);
    status = status == STORE_OK ? store_find_fence(connection, self->found.sku, &fence) : status;
    bool is_late =
        status == STORE_OK && fence > self->token; /* the lock had passed to another holder */
    if (is_late && ++self->fenced_off < SHOP_FENCED_OFF_MAX) {
        ask_to_read(self);
    } else if (is_late) {
        finish_inquiry(self, OUTCOME_FAILED);
    } else {
        finish_inquiry(self, status == STORE_OK          ? OUTCOME_PLACED
                             : status == STORE_NOT_FOUND ? OUTCOME_NO_PRODUCT
                                                         : OUTCOME_FAILED);
    }
}

static void on_may_read(void *arg, int status, const zkl_grant *grant) {
    inquiry *self = arg;
    if (status != ZKL_OK) {
        finish_inquiry(self, shop_outcome_of(status));
        return;
    }
    self->token = grant->token;
    go_on_reading(self, read_product, true);
}

static void ask_to_read(inquiry *self) {
    char paths[SEGMENTS_MAX][SHOP_PATH_SIZE];
    zkl_lock_member members[SEGMENTS_MAX];
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.resource_class = "inquiry";
    for (int i = 0; i < self->found.segments; i++) {
        shop_write_path(paths[i], self->shop, self->found.sku, i);
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        members[i].resource = paths[i];
        members[i].mode = self->shop->has_plain_locks ? ZKL_EXCLUSIVE : ZKL_READ;
    }
    zkl_lock_close(self->lock);
    self->lock = NULL;
    int64_t left_ms = shop_patience_left_ms(self->shop, self->asked_ms);
    int status = left_ms > 0
                     ? zkl_lock_open_set(self->shop->client, members, (size_t)self->found.segments,
                                         &options, &self->lock)
                     : ZKL_TIMEOUT;
    if (status == ZKL_OK) {
        status =
            zkl_lock_acquire_async(self->lock, ZKL_AS_OPENED, left_ms, NULL, on_may_read, self);
    }
    if (status != ZKL_OK) {
        finish_inquiry(self, shop_outcome_of(status));
    }
}

static void prepare_inquiry(job *work, database *connection) {
    inquiry *self = (inquiry *)work;
    if (shop_is_too_late(self->shop, self->asked_ms)) {
        finish_inquiry(self, OUTCOME_BUSY);
        return;
    }
    store_status status = store_find_product(connection, self->found.sku, &self->found);
    if (status == STORE_OK) {
        ask_to_read(self);
    } else {
        finish_inquiry(self, status == STORE_NOT_FOUND ? OUTCOME_NO_PRODUCT : OUTCOME_FAILED);
    }
}

void inquiry_serve(inquiry *self, shop *where) {
    self->shop = where;
    self->asked_ms = shop_now_ms();
    go_on_reading(self, prepare_inquiry, false);
}
