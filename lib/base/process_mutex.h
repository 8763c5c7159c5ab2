/* One mutex for what the whole process shares: the open handles, the open logs and the failures of
 * connections. A child of fork finds it free, and what it guards in order, whatever the other
 * threads of its parent were doing. Held briefly, and inside of every other mutex. */
#ifndef ZKLOCK_PROCESS_MUTEX_H
#define ZKLOCK_PROCESS_MUTEX_H

void zkl_process_lock(void);
void zkl_process_unlock(void);

#endif
