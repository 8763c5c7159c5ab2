/* The main of a program of unit tests that has none of its own. */
#include <errno.h>

#include "support/unit.h"

int main(void) {
    return unit_main(program_invocation_short_name);
}
