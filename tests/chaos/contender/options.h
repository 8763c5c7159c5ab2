/* What the command line asks of a contender. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kind;

enum { KINDS_MAX = 64, NAME_MAX_BYTES = 32, HANDLES_MAX = 256 };

struct options {
    const char *hosts;
    const char *history;
    const char *name;
    const char *host; /* the machine's name in the history, or NULL */
    uint64_t seed;
    const struct kind *kinds[KINDS_MAX];
    size_t kind_count;
    int32_t handles;
    int32_t session_timeout_ms;
    int32_t lease_tick_ms; /* 0: no lease */
    int32_t pace_ms;
    const char *store;       /* "address:port", or NULL */
    const char *credentials; /* "user:password", or NULL */
    const char *records;     /* the directory that they are written to, or NULL */
};

/** Returns the kind of the handle with this number. */
const struct kind *options_kind(const struct options *options, int32_t number);

/** Where a message goes that says what is wrong with a command line. */
enum { MESSAGE_SIZE = 256 };

/** Returns whether the command line is one; else the message says why not. */
bool options_read(int argc, char **argv, struct options *options, char message[MESSAGE_SIZE]);
/** Returns the text of --help. */
const char *options_usage(void);
