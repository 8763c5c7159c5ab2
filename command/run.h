/* zklock run: a command under a lock. */
#pragma once

#include "arguments.h"

extern const subcommand run_subcommand;
