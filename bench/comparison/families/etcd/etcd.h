/*
 * A connection to etcd's servers, by the gateway that takes its API as JSON over HTTP. It is not
 * part of any lock: it sends a request to the server that answered last, or to the next one.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

typedef struct etcd etcd;

/** To HOST:PORT,HOST:PORT,...; none need answer yet. For one thread. */
etcd *etcd_open(const char *servers);

/** How long a server may take to answer before the next one is asked; 2 s, unless it is called. */
void etcd_limit(etcd *self, int64_t patience_ms);

/** Sends `request`, which it takes over, to /v3/PATH. NULL: no answer, or an error. The caller
 * frees the reply (json_decref). */
json_t *etcd_call(etcd *self, const char *path, json_t *request);

/** As etcd_call, for a request that the server answers late: waits for `wait_ms` at most, and no
 * longer than the buyer is to run. */
json_t *etcd_wait(etcd *self, const char *path, json_t *request, int64_t wait_ms);

/** The name of a lock as the gateway wants it: in base64. */
json_t *etcd_lock_name(const char *product);

/** A 64-bit number, which the gateway writes as text; 0 if it is not there. */
int64_t etcd_number(const json_t *object, const char *name);

/** The revision of etcd's whole store in the reply's header. Each write makes it larger. */
int64_t etcd_revision(const json_t *reply);
