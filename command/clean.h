/* zklock clean: removes the nodes of resources that nobody uses any more. */
#pragma once

#include "arguments.h"

extern const subcommand clean_subcommand;
