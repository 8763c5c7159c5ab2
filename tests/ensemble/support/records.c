#include "support/records.h"

#include "support/basics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <playback.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <telemetry/recorder.h>
#include <unistd.h>

static const char variable[] = "ZKLOCK_RECORDS";
static char directory[PATH_MAX]; /* "": nothing is recorded */

/* ---- Writing: each line at once, so that a fork duplicates nothing that waits,
 *      and a kill loses nothing ----------------------------------------------- */

static int *open_stream(void) {
    static _Atomic unsigned count;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%d-%u.record", directory, (int)getpid(), ++count);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    int *stream = malloc(sizeof *stream);
    if (file < 0 || stream == NULL) {
        give_up("%s: %s", path, strerror(errno));
    }
    *stream = file;
    return stream;
}

static void close_stream(int *stream) {
    close(*stream);
    free(stream);
}

static void on_line(void **stream, const char *line, size_t length) {
    if (*stream == NULL) {
        *stream = open_stream();
    }
    int *file = *stream;
    if (line == NULL) {
        close_stream(file);
    } else if (write(*file, line, length) != (ssize_t)length) {
        give_up("a record cannot be written: %s", strerror(errno));
    }
}

void records_join(void) {
    const char *name = getenv(variable);
    if (name != NULL && name[0] != '\0') {
        snprintf(directory, sizeof directory, "%s", name);
        zkl_recorder_listen(on_line);
    }
}

void records_begin(const char *program) {
    const char *name = getenv(variable);
    if (name == NULL || name[0] == '\0') {
        return;
    }
    char own[PATH_MAX];
    snprintf(own, sizeof own, "%s/%s-%d", name, program, (int)getpid());
    if (mkdir(own, S_IRWXU) != 0 || setenv(variable, own, 1) != 0) {
        give_up("%s: %s", own, strerror(errno));
    }
    records_join();
}

/* ---- Checking ---------------------------------------------------------------- */

struct sum {
    uint64_t clients, steps, requests, different;
};

static void check_one(struct sum *sum, const char *path, bool keep) {
    playback_result *result = malloc(sizeof *result);
    if (result == NULL) {
        give_up("out of memory");
    }
    /* Its process may have been killed. */
    playback_play_file(path, &(playback_options){ .may_be_cut = true }, result);
    sum->clients++;
    sum->steps += result->counts.steps;
    sum->requests += result->counts.requests;
    if (result->verdict == PLAYBACK_SAME && !keep) {
        (void)unlink(path);
    } else if (result->verdict != PLAYBACK_SAME) {
        sum->different++;
        printf("    %s: %s\n", path, result->message);
    }
    free(result);
}

/* For tests/run, which adds up those of all programs. */
static void note_sum(const struct sum *sum) {
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.sum", directory);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum->steps, sum->requests,
                sum->clients);
        fclose(file);
    }
}

bool records_check(bool tests_passed) {
    struct sum sum = { 0 };
    DIR *open = directory[0] != '\0' ? opendir(directory) : NULL;
    if (open == NULL) {
        return directory[0] == '\0';
    }
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        char path[2 * PATH_MAX];
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            check_one(&sum, path, !tests_passed);
        }
    }
    closedir(open);
    printf("records: %" PRIu64 " steps of %" PRIu64 " requests of %" PRIu64 " clients, ", sum.steps,
           sum.requests, sum.clients);
    note_sum(&sum);
    if (sum.different == 0) {
        puts("all as the recipe does them");
    } else {
        printf("%" PRIu64 " clients not as the recipe does it\n", sum.different);
    }
    if (rmdir(directory) != 0) {
        printf("records: kept in %s\n", directory);
    }
    return sum.different == 0;
}
