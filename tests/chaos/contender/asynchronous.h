/* A lock that is used by asynchronous calls. */
#pragma once

#include "kinds.h"

bool asynchronous_acquire(struct handle *handle);
/** Verifies in the midst of it. */
void asynchronous_hold(struct handle *handle);
void asynchronous_release(struct handle *handle);
