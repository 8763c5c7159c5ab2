#include "options.h"

#include "kinds.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/zklock.h>

static const char usage[] =
    "usage: chaos_contender --hosts HOSTS --history FILE --name NAME --kinds KIND... [OPTION...]\n"
    "\n"
    "Locks, holds and releases as its seed draws it, until it is told to finish. It writes what\n"
    "it does to FILE (tests/chaos/history.md).\n"
    "\n"
    "  --hosts HOSTS            the servers, as zkl_client_open takes them\n"
    "  --history FILE           is appended to\n"
    "  --name NAME              of the process, once in a run: its handles are NAME-h0 and so on\n"
    "  --host NAME              the machine's name in the history (default: its hostname)\n"
    "  --kinds KIND[,KIND...]   what its handles are, one after the other; --list prints all\n"
    "  --handles N              a thread each (default: one for each kind); a hand-off has two "
    "more\n"
    "  --seed N                 (default: 1)\n"
    "  --session-timeout-ms MS  (default: 4000)\n"
    "  --lease-tick-ms MS       the servers' tick: keeps a lease (default: 0, none)\n"
    "  --pace-ms MS             the mean pause of a handle between two rounds (default: 20)\n"
    "  --store ADDRESS:PORT     of the fenced store (default: none)\n"
    "  --credentials TEXT       the client shows these, as user:password (default: none)\n"
    "  --records DIRECTORY      each client writes its record there, once a second and at its end\n"
    "\n"
    "Standard input: `hosts HOSTS`, `credentials TEXT`, `finish`; its end is `finish` as well.\n"
    "Standard output: `ready` when the client is open. Exit status: 0 when it has finished,\n"
    "1 when it could not begin or write its last records, 2 for a wrong command line, 74 when the\n"
    "history cannot be written.\n";

const char *options_usage(void) {
    return usage;
}

const struct kind *options_kind(const struct options *options, int32_t number) {
    return options->kinds[(size_t)number % options->kind_count];
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return false;
}

static bool read_number(const char *name, const char *text, int64_t least, int64_t most,
                        int64_t *number, char *message) {
    char *end = NULL;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *number < least || *number > most) {
        return refuse(message, "--%s takes a number from %" PRId64 " to %" PRId64 ", not \"%s\"",
                      name, least, most, text);
    }
    return true;
}

static bool read_count(const char *name, const char *text, int64_t least, int64_t most,
                       int32_t *count, char *message) {
    int64_t number;
    if (!read_number(name, text, least, most, &number, message)) {
        return false;
    }
    *count = (int32_t)number;
    return true;
}

static bool read_kinds(const char *text, struct options *options, char *message) {
    options->kind_count = 0;
    for (const char *next = text;; next++) {
        size_t length = strcspn(next, ",");
        const struct kind *found = kind_of_name(next, length);
        if (found == NULL) {
            return refuse(message, "--kinds: there is no kind \"%.*s\"", (int)length, next);
        }
        if (options->kind_count == KINDS_MAX) {
            return refuse(message, "--kinds takes %d at most", KINDS_MAX);
        }
        options->kinds[options->kind_count++] = found;
        next += length;
        if (*next == '\0') {
            return true;
        }
    }
}

static bool read_name(const char *text, struct options *options, char *message) {
    size_t length = strlen(text);
    if (length == 0 || length > NAME_MAX_BYTES ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != length) {
        return refuse(message, "--name takes 1 to %d of a-z, 0-9 and -, not \"%s\"", NAME_MAX_BYTES,
                      text);
    }
    options->name = text;
    return true;
}

enum {
    HOSTS,
    HISTORY,
    NAME,
    HOST,
    KINDS,
    HANDLES,
    SEED,
    SESSION,
    LEASE,
    PACE,
    STORE,
    CREDENTIALS,
    RECORDS
};

static const struct option names[] = { { "hosts", required_argument, NULL, HOSTS },
                                       { "history", required_argument, NULL, HISTORY },
                                       { "name", required_argument, NULL, NAME },
                                       { "host", required_argument, NULL, HOST },
                                       { "kinds", required_argument, NULL, KINDS },
                                       { "handles", required_argument, NULL, HANDLES },
                                       { "seed", required_argument, NULL, SEED },
                                       { "session-timeout-ms", required_argument, NULL, SESSION },
                                       { "lease-tick-ms", required_argument, NULL, LEASE },
                                       { "pace-ms", required_argument, NULL, PACE },
                                       { "store", required_argument, NULL, STORE },
                                       { "credentials", required_argument, NULL, CREDENTIALS },
                                       { "records", required_argument, NULL, RECORDS },
                                       { NULL, 0, NULL, 0 } };

static bool read_one(int number, const char *text, struct options *options, char *message) {
    int64_t seed;
    switch (number) {
    case HOSTS:
        options->hosts = text;
        return true;
    case HISTORY:
        options->history = text;
        return true;
    case NAME:
        return read_name(text, options, message);
    case HOST:
        options->host = text;
        return true;
    case KINDS:
        return read_kinds(text, options, message);
    case HANDLES:
        return read_count("handles", text, 1, HANDLES_MAX, &options->handles, message);
    case SEED:
        if (!read_number("seed", text, 0, INT64_MAX, &seed, message)) {
            return false;
        }
        options->seed = (uint64_t)seed;
        return true;
    case SESSION:
        return read_count("session-timeout-ms", text, ZKL_SESSION_TIMEOUT_MIN_MS,
                          ZKL_SESSION_TIMEOUT_MAX_MS, &options->session_timeout_ms, message);
    case LEASE:
        return read_count("lease-tick-ms", text, 0, ZKL_LEASE_TICK_MAX_MS, &options->lease_tick_ms,
                          message);
    case PACE:
        return read_count("pace-ms", text, 0, INT32_MAX / 2, &options->pace_ms, message);
    case STORE:
        options->store = text;
        return strchr(text, ':') != NULL ||
               refuse(message, "--store takes ADDRESS:PORT, not \"%s\"", text);
    case CREDENTIALS:
        options->credentials = text;
        return true;
    case RECORDS:
        options->records = text;
        return true;
    default:
        return refuse(message, "see --help");
    }
}

static bool are_complete(struct options *options, char *message) {
    if (options->hosts == NULL || options->history == NULL || options->name == NULL ||
        options->kind_count == 0) {
        return refuse(message, "--hosts, --history, --name and --kinds are needed");
    }
    for (size_t i = 0; i < options->kind_count; i++) {
        if (options->kinds[i]->needs_lease && options->lease_tick_ms == 0) {
            return refuse(message, "--kinds %s needs --lease-tick-ms", options->kinds[i]->name);
        }
    }
    if (options->handles == 0) {
        options->handles = (int32_t)options->kind_count;
    }
    return true;
}

bool options_read(int argc, char **argv, struct options *options, char message[MESSAGE_SIZE]) {
    *options = (struct options){ .seed = 1, .session_timeout_ms = 4000, .pace_ms = 20 };
    optind = 0; /* all that getopt remembers begins anew */
    opterr = 0;
    for (int number; (number = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        if (number == '?') {
            return refuse(message, "there is no %s, or it lacks its value", argv[optind - 1]);
        }
        if (!read_one(number, optarg, options, message)) {
            return false;
        }
    }
    if (optind < argc) {
        return refuse(message, "\"%s\" is too much", argv[optind]);
    }
    return are_complete(options, message);
}
