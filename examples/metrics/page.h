/* The page of metrics that a service hands to Prometheus. */
#pragma once

#include <zklock/zklock.h>

/** Returns what the client has counted so far, as text: answer GET /metrics with it, and with
 *  "Content-Type: text/plain; version=0.0.4". Free it with free(). NULL: it could not be had;
 *  zkl_strerror(*status) says why. */
char *metrics_page(zkl_client *client, int *status);
