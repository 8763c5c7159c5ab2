#include "chance.h"

/* splitmix64: a good number from any state, also from those of neighbours. */
static uint64_t draw(struct chance *chance) {
    uint64_t number = chance->state += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

struct chance chance_begin(uint64_t seed, uint64_t index) {
    struct chance made = { .state = seed };
    made.state = draw(&made) + index;
    made.state = draw(&made);
    return made;
}

int64_t chance_below(struct chance *chance, int64_t below) {
    return (int64_t)(draw(chance) % (uint64_t)below);
}

int64_t chance_between(struct chance *chance, int64_t least, int64_t most) {
    return least + chance_below(chance, most - least + 1);
}

bool chance_once_in(struct chance *chance, int64_t times) {
    return chance_below(chance, times) == 0;
}
