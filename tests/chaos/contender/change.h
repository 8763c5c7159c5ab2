/* Holders that change the mode of what they hold. */
#pragma once

#include "kinds.h"

void lock_hold_and_downgrade(struct handle *handle);
void lock_hold_and_upgrade(struct handle *handle);
