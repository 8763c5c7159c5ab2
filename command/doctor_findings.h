/* What `zklock doctor` has found, for people or for programs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "settings.h"

/** OK: it was tested, and is right. */
typedef enum level { LEVEL_OK, LEVEL_NOT_TESTED, LEVEL_WARNING, LEVEL_BAD } level;

/** One examination. */
typedef struct doctor {
    bool json;
    const settings *settings;
    json_t *findings; /* for --json, which prints them at the end */
    int bad;          /* how many of them are LEVEL_BAD */
} doctor;

/** Prints a finding, or with --json keeps it. `what` is what it is about. */
void doctor_find(doctor *self, level how, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
