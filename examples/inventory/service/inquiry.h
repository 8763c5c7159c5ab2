/* An inquiry: what is left and what was sold of a product, read under a read lock of all its
 * segments. */
#pragma once

#include "shop.h"

typedef struct inquiry {
    job work; /* first */
    product found;
    outcome outcome; /* PLACED: the product was found */
    int64_t token;
    int fenced_off; /* how often */
    void (*done)(struct inquiry *self);
    void *arg;
    shop *shop;
    zkl_lock *lock;
    int64_t asked_ms;
} inquiry;

/** Serves an inquiry, which is the shop's until `done` is called. */
void inquiry_serve(inquiry *self, shop *where);
