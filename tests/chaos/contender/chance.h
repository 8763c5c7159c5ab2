/* Numbers that are drawn from a seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

/** Begins a row of numbers that is another one for each seed and index. */
struct chance chance_begin(uint64_t seed, uint64_t index);
/** Draws a number from 0 to below - 1. */
int64_t chance_below(struct chance *chance, int64_t below);
/** Draws a number from `least` to `most`. */
int64_t chance_between(struct chance *chance, int64_t least, int64_t most);
/** Is true once in so many times. */
bool chance_once_in(struct chance *chance, int64_t times);
