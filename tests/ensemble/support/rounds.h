/* One path again and again, with the connection cut at each of its requests in turn. */
#pragma once

#include "support/proxy.h"

/** The whole path on a scene of its own, with the connection cut at that request; returns how many
 *  cuts were made. */
typedef int cut_round(enum proxy_fault fault, int request);

/** Rounds until one passes without its request having come: then each has had its turn. Asserts
 * that there were `least` of them, as docs/internals/protocol.md tells; there may be more, not
 * fewer. A failure ends them: what it has left behind would fail the others. */
void cut_at_every_request(cut_round *run, enum proxy_fault fault, int least);
