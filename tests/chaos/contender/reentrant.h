/* A reentrant handle, acquired several times. */
#pragma once

#include "kinds.h"

bool lock_acquire_again(struct handle *handle);
void lock_release_as_often(struct handle *handle);
