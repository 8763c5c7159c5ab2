/* zklock revoke, break: what an operator can do about the locks of others. */
#pragma once

#include "arguments.h"

extern const subcommand revoke_subcommand;
extern const subcommand break_subcommand;
