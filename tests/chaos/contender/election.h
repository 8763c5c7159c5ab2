/* Candidates, and those who observe them. */
#pragma once

#include "kinds.h"

extern const struct opening a_candidate;
extern const struct opening an_observer;

bool election_campaign(struct handle *handle);
void election_resign(struct handle *handle);
/** Lets the observer be told for a while. It is granted nothing. */
bool observer_wait(struct handle *handle);
