#include "support/rounds.h"

#include "support/test.h"

#include <stdio.h>

/* No path has as many requests: one that never ends is noticed. */
#define REQUESTS_MAX 40

void cut_at_every_request(cut_round *run, enum proxy_fault fault, int least) {
    unsigned failures = CU_get_number_of_failures();
    int request = 1;
    while (run(fault, request) > 0 && request < REQUESTS_MAX &&
           CU_get_number_of_failures() == failures) {
        request++;
    }
    printf("%d requests ", request - 1);
    CU_ASSERT_TRUE(request - 1 >= least && request < REQUESTS_MAX);
}
