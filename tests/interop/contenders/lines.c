#include "lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define COMMAND_SIZE 1536
#define DIGITS 20
/* Of each acquire of `count`. */
#define COUNT_WITHIN_MS 20000
#define INSIDE_MS 1

/* The work that is to be done, if any: the main thread hands it over, the other takes it. */
struct desk {
    const struct lines_library *library;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char command[COMMAND_SIZE]; /* "": none */
};

static struct desk desk = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

/* One printf is one piece: two threads answer. */
static void answer(const char *word, const char *status, const char *text) {
    printf("%s %s%s%s\n", word, status, text[0] == '\0' ? "" : " ", text);
    fflush(stdout);
}

void lines_begin(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void lines_start(int64_t session_id, int session_timeout_ms) {
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " %d", session_id, session_timeout_ms);
    answer("start", LINES_OK, text);
}

void lines_cannot_start(const char *why) {
    answer("start", LINES_FAILED, why);
    exit(EXIT_FAILURE);
}

/* ---- The ledger ------------------------------------------------------------------------ */

static int64_t ledger_get(int fd) {
    char digits[DIGITS + 1] = "";
    return pread(fd, digits, DIGITS, 0) == DIGITS ? strtoll(digits, NULL, 10) : -1;
}

static bool ledger_put(int fd, int64_t number) {
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%0*" PRId64, DIGITS, number);
    return pwrite(fd, digits, DIGITS, 0) == DIGITS;
}

/* False: somebody else has written meanwhile, or the ledger cannot be used. */
static bool ledger_use(int fd, bool looks) {
    int64_t number = ledger_get(fd);
    (void)poll(NULL, 0, INSIDE_MS);
    bool alone = ledger_get(fd) == number;
    return (looks || ledger_put(fd, number + 1)) && alone;
}

static const char *count_with(const struct lines_library *library, int rounds, int fd, char *text) {
    int overlaps = 0;
    for (int i = 0; i < rounds; i++) {
        const char *status = library->acquire(library->lock, COUNT_WITHIN_MS, text);
        if (strcmp(status, LINES_OK) != 0) {
            return status;
        }
        if (fd >= 0 && !ledger_use(fd, library->shares)) {
            overlaps++;
        }
        text[0] = '\0';
        status = library->release(library->lock, text);
        if (strcmp(status, LINES_OK) != 0) {
            return status;
        }
    }
    snprintf(text, LINES_TEXT_SIZE, "%d %d", rounds, overlaps);
    return LINES_OK;
}

static const char *count(const struct lines_library *library, int rounds, const char *ledger,
                         char *text) {
    bool uses = strcmp(ledger, "-") != 0;
    int fd = uses ? open(ledger, O_RDWR | O_CLOEXEC) : -1;
    if (uses && fd < 0) {
        snprintf(text, LINES_TEXT_SIZE, "no ledger %s", ledger);
        return LINES_FAILED;
    }
    const char *status = count_with(library, rounds, fd, text);
    if (uses) {
        close(fd);
    }
    return status;
}

/* ---- Works ----------------------------------------------------------------------------- */

static void work(const struct lines_library *library, const char *command) {
    static char text[LINES_TEXT_SIZE];
    char ledger[256];
    int64_t timeout_ms;
    int rounds;
    text[0] = '\0';
    if (sscanf(command, "acquire %" SCNd64, &timeout_ms) == 1) {
        answer("acquire", library->acquire(library->lock, timeout_ms, text), text);
    } else if (sscanf(command, "count %d %255s", &rounds, ledger) == 2) {
        answer("count", count(library, rounds, ledger, text), text);
    } else {
        answer("release", library->release(library->lock, text), text);
    }
}

static void *work_always(void *argument) {
    (void)argument;
    for (;;) {
        char command[COMMAND_SIZE];
        pthread_mutex_lock(&desk.mutex);
        while (desk.command[0] == '\0') {
            pthread_cond_wait(&desk.changed, &desk.mutex);
        }
        memcpy(command, desk.command, sizeof command);
        desk.command[0] = '\0';
        pthread_mutex_unlock(&desk.mutex);
        work(desk.library, command);
    }
    return NULL;
}

static void hand_over(const char *command) {
    pthread_mutex_lock(&desk.mutex);
    snprintf(desk.command, sizeof desk.command, "%s", command);
    pthread_cond_signal(&desk.changed);
    pthread_mutex_unlock(&desk.mutex);
}

/* ---- Commands that are answered at once ------------------------------------------------ */

static bool is(const char *command, const char *word) {
    size_t length = strlen(word);
    return strncmp(command, word, length) == 0 &&
           (command[length] == '\0' || command[length] == ' ');
}

static const char *ask(const struct lines_library *library, const char *command, char *text) {
    const char *space = strchr(command, ' ');
    const char *argument = space == NULL ? "" : space + 1;
    if (is(command, "cancel") && library->cancel != NULL) {
        return library->cancel(library->lock, text);
    }
    if (is(command, "held") && library->held != NULL) {
        return library->held(library->lock, text);
    }
    if (is(command, "contenders") && library->contenders != NULL) {
        return library->contenders(library->lock, text);
    }
    if (is(command, "revoke") && library->revoke != NULL) {
        return library->revoke(library->lock, argument, text);
    }
    if (is(command, "told") && library->told != NULL) {
        return library->told(library->lock, argument, text);
    }
    return LINES_UNSUPPORTED;
}

static void obey(const struct lines_library *library, const char *command) {
    static char text[LINES_TEXT_SIZE];
    char word[32] = "";
    if (is(command, "acquire") || is(command, "release") || is(command, "count")) {
        hand_over(command);
        return;
    }
    text[0] = '\0';
    sscanf(command, "%31s", word);
    answer(word, ask(library, command, text), text);
}

void lines_serve(const struct lines_library *library) {
    char command[COMMAND_SIZE];
    pthread_t thread;
    desk.library = library;
    if (pthread_create(&thread, NULL, work_always, NULL) != 0) {
        lines_cannot_start("no thread");
    }
    pthread_detach(thread);
    while (fgets(command, sizeof command, stdin) != NULL) {
        command[strcspn(command, "\n")] = '\0';
        obey(library, command);
    }
}
