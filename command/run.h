/* zklock run: a command under a lock. zklock once: at most one success in a period. zklock hold: a
 * lock without a command. */
#pragma once

#include "arguments.h"

extern const subcommand run_subcommand;
extern const subcommand once_subcommand;
extern const subcommand hold_subcommand;
