/* A lock of several resources. */
#pragma once

#include "kinds.h"

/** Resources of the families plain, read-write and permits, each in a mode that others have there.
 */
extern const struct opening a_set;
