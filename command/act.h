/* zklock revoke, break: what can be done about the locks of others. */
#pragma once

#include "arguments.h"

extern const subcommand revoke_subcommand;
extern const subcommand break_subcommand;
