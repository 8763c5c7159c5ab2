/* Others who use the same resources: contenders of other libraries, and some that behave badly. */
#pragma once

#include "plan.h"

void foreign_begin(const run_plan *plan);
/** Somebody comes to a resource, until all are gone. `choice`: what for. */
void foreign_comes(const char *resource_path, uint32_t choice);
/** Somebody deletes the node, and makes another under its name, until all are gone. */
void foreign_replaces(const char *path);
/** All of them release their locks, and leave the queues. False: the servers did not take it. */
bool foreign_all_leave(void);
/** From here on nobody comes any more. */
void foreign_end(void);
