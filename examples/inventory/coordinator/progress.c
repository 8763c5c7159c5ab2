#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "../clock.h"

enum { TERMINAL_PERIOD_MS = 100, PLAIN_PERIOD_MS = 2000 };

static const char *line_begin(const struct progress *progress) {
    return progress->on_terminal ? "\r\x1b[K" : "";
}

static int count_units_sold(const struct run_plan *plan) {
    int units = 0;
    for (int i = 0; i < plan->scenario->requests; i++) {
        const struct request *request = &plan->board->requests[i];
        units += request->outcome == SERVED ? request->units : 0;
    }
    return units;
}

void progress_begin(struct progress *progress, const struct run_plan *plan) {
    *progress = (struct progress){ .plan = plan,
                                   .on_terminal = isatty(STDERR_FILENO) != 0,
                                   .begun_ns = clock_now_ns() };
    progress->shown_ns = progress->begun_ns;
}

void progress_show(struct progress *progress) {
    int64_t now_ns = clock_now_ns();
    int64_t period_ms = progress->on_terminal ? TERMINAL_PERIOD_MS : PLAIN_PERIOD_MS;
    if (now_ns - progress->shown_ns < period_ms * NS_PER_MS) {
        return;
    }
    progress->shown_ns = now_ns;
    const struct run_plan *plan = progress->plan;
    (void)fprintf(stderr, "%s%s, %s: %u of %d requests, %d units sold, %.1f s%s",
                  line_begin(progress), plan->scenario->name, guard_name(plan->guard),
                  (unsigned)gate_count(&plan->board->finished), plan->scenario->requests,
                  count_units_sold(plan),
                  (double)(now_ns - progress->begun_ns) / (1000.0 * NS_PER_MS),
                  progress->on_terminal ? "" : "\n");
}

void progress_note(struct progress *progress, const char *format, ...) {
    (void)fprintf(stderr, "%s%s, %s: ", line_begin(progress), progress->plan->scenario->name,
                  guard_name(progress->plan->guard));
    va_list arguments;
    va_start(arguments, format);
    /* clang-tidy 14 is wrong about va_list in all but the first file that it is given. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
}

void progress_end(struct progress *progress, const struct result *result) {
    if (!result_is_right(result)) {
        progress_note(progress, "WRONG: %s", result->problem);
        return;
    }
    progress_note(progress, "sold %d, refused %d, oversold %d, fenced off %d, in %.2f s",
                  result->sold, result->refused, result->oversold, result->fenced_off,
                  result->seconds);
}
