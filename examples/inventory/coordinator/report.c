#include "report.h"

static const char head_format[] = "%-16s  %-14s  %7s  %8s  %5s  %7s  %8s  %6s  %7s  %5s  %8s  %8s"
                                  "  %8s  %s\n";

static void print_head(FILE *out) {
    (void)fprintf(out, head_format, "", "", "", "", "units", "", "", "fenced", "", "", "requests",
                  "wait ms", "wait ms", "");
    (void)fprintf(out, head_format, "scenario", "guard", "servers", "requests", "sold", "refused",
                  "oversold", "off", "queries", "wrong", "per s", "p50", "p99", "verdict");
}

static const char *verdict(const struct result *result) {
    if (!result_is_right(result)) {
        return "WRONG";
    }
    return guard_must_oversell(result->guard) ? "oversold, as it must" : "right";
}

static void print_wait(FILE *out, const struct result *result, double wait_ms) {
    if (result->guard == GUARD_NONE) {
        (void)fprintf(out, "  %8s", "-");
    } else {
        (void)fprintf(out, "  %8.1f", wait_ms);
    }
}

/* The counts of an unfinished run mean nothing. */
static void print_incomplete_row(FILE *out, const struct result *result) {
    (void)fprintf(out, head_format, result->scenario->name, guard_name(result->guard), "-", "-",
                  "-", "-", "-", "-", "-", "-", "-", "-", "-", verdict(result));
}

static void print_row(FILE *out, const struct result *result) {
    if (!result->complete) {
        print_incomplete_row(out, result);
        return;
    }
    (void)fprintf(out, "%-16s  %-14s  %7d  %8d  %5d  %7d  %8d  %6d  %7d  %5d  %8.1f",
                  result->scenario->name, guard_name(result->guard), result->scenario->servers,
                  result->scenario->requests, result->sold, result->refused, result->oversold,
                  result->fenced_off, result->queries, result->wrong_queries,
                  result->requests_per_second);
    print_wait(out, result, result->wait_p50_ms);
    print_wait(out, result, result->wait_p99_ms);
    (void)fprintf(out, "  %s\n", verdict(result));
}

void report_print(FILE *out, const struct result *results, int count) {
    print_head(out);
    for (int i = 0; i < count; i++) {
        print_row(out, &results[i]);
    }
    for (int i = 0; i < count; i++) {
        if (!result_is_right(&results[i])) {
            (void)fprintf(out, "WRONG: %s, %s: %s\n", results[i].scenario->name,
                          guard_name(results[i].guard), results[i].problem);
        }
    }
}
