/*
 * A lease of etcd, and a thread that keeps it alive: it asks once in a third of the lease's time,
 * as etcd's own Go client does (clientv3, Lease.KeepAlive). A process has one lease at a time.
 *
 * Leases count in seconds, and etcd makes short ones longer: with its usual election timeout of 1 s
 * no lease is shorter than 2 s.
 */
#pragma once

#include "etcd.h"

/** Says which servers, and how long a lease is to last without a sign of life. */
void lease_open(const char *servers, int64_t timeout_ms);

/** Returns a new lease, which is kept alive from now on; 0: etcd gave none. */
int64_t lease_begin(etcd *server);

/** Returns the lease that is kept alive; if there is none, or it is over, a new one. */
int64_t lease_keep(etcd *server);

/** Keeps it alive no longer, and revokes it: its keys are deleted. */
void lease_end(etcd *server);
