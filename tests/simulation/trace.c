#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>

#include "testing/world.h"

static FILE *trace_file;

void trace_to(FILE *file) {
    trace_file = file;
}

static void begin_line(void) {
    int64_t now_us = zkl_world_now_us();
    fprintf(trace_file, "%6" PRId64 ".%06" PRId64 " s  ", now_us / 1000000, now_us % 1000000);
}

void trace_call(unsigned contender, const char *format, ...) {
    if (trace_file == NULL) {
        return;
    }
    begin_line();
    fprintf(trace_file, "contender %-4u ", contender);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(trace_file, format, arguments);
    va_end(arguments);
    fputc('\n', trace_file);
}

void trace_event(const char *who, const char *format, ...) {
    if (trace_file == NULL) {
        return;
    }
    begin_line();
    fprintf(trace_file, "%-14s ", who);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(trace_file, format, arguments);
    va_end(arguments);
    fputc('\n', trace_file);
}
