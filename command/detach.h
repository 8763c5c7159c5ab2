/* What sets the holder's process apart from its parent, the front: its group, its signals, its
 * files. */
#pragma once

#include <sys/types.h>

/** Begins a process group. From here on signals that ask to end are passed on to the front, and no
 *  file is open but the standard error output and `kept`. */
void detach_begin(pid_t front, int kept);

/** Leaves the standard error output too. From here on a signal ends this process. */
void detach_complete(void);
