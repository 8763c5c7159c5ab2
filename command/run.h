/* zklock run: a command under a lock. zklock once: at most one success in a period. */
#pragma once

#include "arguments.h"

extern const subcommand run_subcommand;
extern const subcommand once_subcommand;
