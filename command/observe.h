/* zklock wait: until nobody holds a lock. zklock observe: who leads, a line at each change. */
#pragma once

#include "arguments.h"

extern const subcommand wait_subcommand;
extern const subcommand observe_subcommand;
