/*
 * The service itself: how one request is served, without a lock and under one.
 * Reading, deciding and writing back are separate steps in both.
 */
#pragma once

#include "contender.h"

/** Serves request number `index` of the plan. False: the run cannot continue. */
bool serve_without_lock(struct contender *contender, int index);
bool serve_under_lock(struct contender *contender, int index);

/** Queries the stock once, beside the sale, and counts the result on the board. */
bool query_without_lock(struct contender *contender);
bool query_under_lock(struct contender *contender);
