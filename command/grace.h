/* How long before the end of its lease a command has to end. */
#pragma once

#include "channel.h"
#include "job.h"

/** Chooses grace and margin by the session timeout that the servers have granted. Returns
 * EXIT_DONE; or EXIT_USAGE, and has said what is impossible. */
int grace_choose(const job *what, shared *both, zkl_client *client);
