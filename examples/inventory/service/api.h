/* What the service answers: which request is which, what is wrong with it, and the JSON of both
 * ways. */
#pragma once

#include <stdatomic.h>

#include "http.h"
#include "shop.h"

typedef struct api {
    shop *shop;
    http *http;
    int waiting_max;
    atomic_int waiting; /* what needs the database and is not answered yet */
    atomic_long answered[OUTCOME_FAILED + 1];
} api;

/** An http_handler; arg: the api. */
void api_handle(void *arg, const http_request *request, exchange *of);
