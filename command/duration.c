#include "duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

bool duration_read(const char *text, int64_t *ms) {
    static const struct {
        const char *name;
        double ms;
    } units[] = {
        { "", (double)SECOND_MS },  { "s", (double)SECOND_MS },   { "ms", 1 },
        { "m", (double)MINUTE_MS }, { "min", (double)MINUTE_MS }, { "h", (double)HOUR_MS },
        { "d", (double)DAY_MS },    { "w", 7.0 * (double)DAY_MS }
    };
    if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
        return false; /* strtod would accept " 1", "-1", "inf" and "nan" */
    }
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text ||
        text[strcspn(text, "xXpPeE")] != '\0') { /* it would accept 0x10 and 1e3 too */
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        double exact = ceil(number * units[i].ms);
        if (strcmp(end, units[i].name) == 0 && exact <= (double)DURATION_MAX_MS) {
            *ms = (int64_t)exact;
            return true;
        }
    }
    return false;
}

void duration_write(char text[DURATION_TEXT_SIZE], int64_t ms) {
    if (ms < SECOND_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 " ms", ms);
    } else if (ms < 2 * MINUTE_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%.3g s", (double)ms / (double)SECOND_MS);
    } else if (ms < 2 * HOUR_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 " min", ms / MINUTE_MS);
    } else if (ms < 2 * DAY_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%.3g h", (double)ms / (double)HOUR_MS);
    } else {
        snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 " days", ms / DAY_MS);
    }
}
