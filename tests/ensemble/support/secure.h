/*
 * Clients that come over TLS, or with a SASL login: tests/run --help, suite secure. Where the
 * environment variable ZKLOCK_SECURE is "tls" or "sasl", all clients of the suite ensemble do so.
 * With TLS those that name anybody but the servers themselves, a proxy for example, come in clear.
 */
#pragma once

#include <stddef.h>
#include <zklock/zklock.h>
#include <zookeeper/zookeeper.h>

/** Adds what is needed, and returns the host list to be used: in `room`, or the given one. */
const char *secure_options(const char *hosts, char *room, size_t size, zkl_security *security);

/** As zookeeper_init; with a login where the clients have one. */
zhandle_t *secure_raw(const char *hosts, int timeout_ms, const clientid_t *session);
