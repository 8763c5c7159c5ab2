/* What the page shows, twice a second while somebody looks: stock, orders, and the queues of the
 * products' locks. It is read from the database and the ensemble, so any instance can tell it. */
#pragma once

#include "http.h"
#include "shop.h"

typedef struct feed feed;

/** NULL: no memory, or no thread. database_at lives as long as the feed. */
feed *feed_start(shop *of, http *to, const char *database_at);
/** Also takes this instance from the list of those that there are: nobody notes it any more. */
void feed_stop(feed *self);
