#include "board.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

struct board *board_make(void) {
    void *memory =
        mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void board_fail(struct board *board, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "bank_transfer: %s\n", text);
    atomic_fetch_add(&board->failures, 1);
}
