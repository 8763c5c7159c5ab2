/* What the page shows, twice a second while somebody looks: stock, orders, and the queues of the
 * products' locks. It is read from the database and the ensemble, so any instance can show it. */
#pragma once

#include "http.h"
#include "shop.h"

typedef struct feed feed;

/** Starts the feed. NULL: no memory, or no thread. database_at must stay valid until feed_stop.
 *  demonstration: whether the page may offer one. */
feed *feed_start(shop *of, http *to, const char *database_at, bool demonstration);
/** Stops the feed, and takes this instance off the list of instances. NULL does nothing. */
void feed_stop(feed *self);
