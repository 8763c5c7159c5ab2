#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */
#include "stock.h"

#include <stdlib.h>

int stock_number(const char *argument) {
    return (int)strtol(argument, NULL, 10);
}

volatile sig_atomic_t stock_is_closing;

static void close_stock(int number) {
    (void)number;
    stock_is_closing = 1;
}

void stock_close_on_sigterm(void) {
    (void)sigaction(SIGTERM, &(struct sigaction){ .sa_handler = close_stock }, NULL);
}

static long read_number(const char *file) {
    long number = 0;
    FILE *stream = fopen(file, "r");
    if (stream != NULL) {
        char text[32] = "";
        if (fgets(text, sizeof text, stream) != NULL) {
            number = strtol(text, NULL, 10);
        }
        (void)fclose(stream);
    }
    return number;
}

static void write_number(const char *file, long number) {
    FILE *stream =
        fopen(file, "r+"); /* not emptied: a reader finds the old number or the new one */
    if (stream != NULL) {
        (void)fprintf(stream, "%020ld", number);
        (void)fclose(stream);
    }
}

bool stock_take_order(const char *file, int held_ms) {
    long number = read_number(file);
    for (int left = held_ms; left > 0 && !stock_is_closing; left -= 10) {
        (void)poll(NULL, 0, left < 10 ? left : 10);
    }
    bool alone = read_number(file) == number;
    write_number(file, number + 1);
    return alone;
}

void stock_report_open(void) {
    puts("open");
    (void)fflush(stdout);
}

void stock_report(int orders, int overlaps) {
    printf("orders %d, overlaps %d\n", orders, overlaps);
    (void)fflush(stdout);
}
