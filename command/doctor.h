/* zklock doctor: is there anything about the servers, or their permissions, that locks do not
 * stand? */
#pragma once

#include "arguments.h"

extern const subcommand doctor_subcommand;
