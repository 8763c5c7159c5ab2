/* zklock doctor: checks servers, clocks and permissions for what breaks locks. */
#pragma once

#include "arguments.h"

extern const subcommand doctor_subcommand;
