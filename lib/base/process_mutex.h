/* One mutex for what the whole process shares: the open handles, the open logs and the failures of
 * connections. A child of fork finds it unlocked, and what it guards in order, whatever the other
 * threads of its parent were doing. It is held briefly, and locked last of all mutexes. */
#pragma once

#include "base/threads.h"

extern pthread_mutex_t zkl_process_mutex;
