/* Lists as the recipe takes them, made of names. */
#pragma once

#include "recipe/contenders.h"

/** Valid until many more have been made; the texts stay the caller's. */
zkl_listed listed(zkl_children children);
