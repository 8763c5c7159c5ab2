/* zklock secure: closes what is above the locks, as docs/security.md says. */
#pragma once

#include "arguments.h"

extern const subcommand secure_subcommand;
