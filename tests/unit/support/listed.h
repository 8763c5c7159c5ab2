/* Lists as the recipe reads them, made of names. */
#pragma once

#include "recipe/contenders.h"

/** Makes a list, which is valid until the sixteenth after it. The texts stay the caller's. */
zkl_listed listed(zkl_children children);
