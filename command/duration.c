#include "duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_MS = 1000, MINUTE_MS = 60000, HOUR_MS = 3600000, DAY_MS = 86400000 };

bool duration_read(const char *text, int64_t *ms) {
    static const struct {
        const char *name;
        double ms;
    } units[] = {
        { "", SECOND_MS },    { "s", SECOND_MS }, { "ms", 1 },     { "m", MINUTE_MS },
        { "min", MINUTE_MS }, { "h", HOUR_MS },   { "d", DAY_MS }, { "w", 7.0 * DAY_MS }
    };
    if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
        return false; /* strtod would take " 1", "-1", "inf" and "nan" */
    }
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || text[strcspn(text, "xXpPeE")] != '\0') { /* nor 0x10 and 1e3 */
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
    } else if (ms < MINUTE_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%.3g s", (double)ms / SECOND_MS);
    } else if (ms < 2 * HOUR_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 " min", ms / MINUTE_MS);
    } else if (ms < 2 * (int64_t)DAY_MS) {
        snprintf(text, DURATION_TEXT_SIZE, "%.3g h", (double)ms / HOUR_MS);
    } else {
        snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 " days", ms / DAY_MS);
    }
}
