/* Signals are the application's: no thread that zklock causes takes any. For what starts threads.
 */
#ifndef ZKLOCK_SIGNALS_H
#define ZKLOCK_SIGNALS_H

#include <signal.h>

/** The calling thread takes no signals, and threads that it starts never do. */
sigset_t zkl_signals_block(void);
/** It takes those again that it took before. */
void zkl_signals_restore(sigset_t before);

#endif
