/* A lock of several stripes. */
#pragma once

#include "kinds.h"

extern const struct opening a_striped_lock;

/** Acquires a certain stripe, any, or all. */
bool striped_acquire(struct handle *handle);
