/* zklock top: the busiest resources, as they change. */
#pragma once

#include "arguments.h"

extern const subcommand top_subcommand;
