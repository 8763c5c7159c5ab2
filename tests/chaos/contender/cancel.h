/* Acquires that somebody else cancels. */
#pragma once

#include "kinds.h"

/** Acquires the lock, while another thread cancels that after a time that is drawn. */
bool lock_acquire_and_cancel(struct handle *handle);
