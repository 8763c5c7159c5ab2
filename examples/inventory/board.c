#include "board.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

static void fill_request(struct request *request, const struct scenario *scenario, int index) {
    if (scenario->customers == NULL) {
        request->kind = PURCHASE;
        request->units = 1;
        (void)snprintf(request->name, sizeof(request->name), "buyer %d", index + 1);
        return;
    }
    const struct customer *customer = &scenario->customers[index];
    request->kind = customer->kind;
    request->units = customer->units;
    (void)snprintf(request->name, sizeof(request->name), "%s", customer->name);
}

struct board *board_make(const struct scenario *scenario) {
    assert(scenario->requests <= BOARD_REQUESTS_MAX);
    /* Anonymous memory is zero: every gate is closed and every request undecided. */
    struct board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        return NULL;
    }
    for (int i = 0; i < scenario->requests; i++) {
        fill_request(&board->requests[i], scenario, i);
    }
    return board;
}

void board_free(struct board *board) {
    if (board != NULL) {
        (void)munmap(board, sizeof(*board));
    }
}

void board_fail(struct board *board, const char *format, ...) {
    if (atomic_fetch_add(&board->failures, 1) != 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    /* clang-tidy 14 is wrong about va_list in all but the first file that it is given. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(board->failure, sizeof(board->failure), format, arguments);
    va_end(arguments);
    gate_raise(&board->failure_told);
}
