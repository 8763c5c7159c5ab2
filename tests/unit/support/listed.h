/* Lists as the recipe takes them, made of names. */
#ifndef ZKLOCK_TESTS_LISTED_H
#define ZKLOCK_TESTS_LISTED_H

#include "recipe/contenders.h"

/** Valid until many more have been made; the texts stay the caller's. */
zkl_listed listed(zkl_children children);

#endif
