/* The page of metrics that a service hands to Prometheus. */
#pragma once

#include <zklock/zklock.h>

/** What the client has counted so far, as text: answer GET /metrics with it, and with
 *  "Content-Type: text/plain; version=0.0.4". Free it with free(). NULL: there is none to
 *  be had; zkl_strerror(*status) tells why. */
char *metrics_page(zkl_client *client, int *status);
