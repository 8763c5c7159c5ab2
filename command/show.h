/* zklock ls, status, deadlocks: what is locked, by whom, and who waits. */
#pragma once

#include "arguments.h"

extern const subcommand ls_subcommand;
extern const subcommand status_subcommand;
extern const subcommand deadlocks_subcommand;
