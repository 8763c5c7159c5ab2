/* The requests: which is which, what is wrong with each, and JSON in both directions. */
#pragma once

#include <stdatomic.h>

#include "http.h"
#include "shop.h"

typedef struct api {
    shop *shop;
    http *http;
    int waiting_max;
    bool has_page;      /* it shows the page, and what the page is fed with */
    bool demonstration; /* orders may be trials */
    const char *hosts;  /* of the ensemble */
    atomic_int waiting; /* requests that need the database and are not answered yet */
    atomic_long answered[OUTCOME_FAILED + 1];
} api;

/** Handles a request, as an http_handler. arg: the api. */
void api_handle(void *arg, const http_request *request, exchange *of);
