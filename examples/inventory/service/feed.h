/* What the page shows, twice a second while somebody looks: stock, orders, and the queues of the
 * products' locks. It is read from the database and the ensemble, so any instance can tell it. */
#pragma once

#include "http.h"
#include "shop.h"

typedef struct feed feed;

/** NULL: no memory, or no thread. url: where this instance's page is, for the pages of the others;
 *  lives as long as the feed, as database_at does. */
feed *feed_start(shop *of, http *to, const char *database_at, const char *url);
void feed_stop(feed *self);
