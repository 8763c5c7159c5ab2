#include "telemetry/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"

enum { MESSAGE_SIZE = 8192, PATH_SIZE = 4096, LAST_WORDS_S = 5 };

static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return true;
}

/* ---- A file as a whole ------------------------------------------------------ */

static bool fill(int file, const char *bytes, size_t length) {
    bool good = write_all(file, bytes, length) && fsync(file) == 0;
    return close(file) == 0 && good;
}

bool zkl_record_file_write(const char *path, const char *bytes, size_t length) {
    static const char name[] = "zklock.XXXXXX";
    /* In the same directory. Not the file's own name and more: that may be as long as a name can
     * be. */
    const char *slash = strrchr(path, '/');
    int directory = slash != NULL ? (int)(slash - path) + 1 : 0;
    char beside[ZKL_FILE_NAME_MAX + sizeof(name)];
    snprintf(beside, sizeof(beside), "%.*s%s", directory, path, name);
    int file = mkostemp(beside, O_CLOEXEC);
    bool good = file >= 0 && fill(file, bytes, length) && rename(beside, path) == 0;
    if (!good && file >= 0) {
        int why = errno;
        (void)unlink(beside);
        errno = why;
    }
    return good;
}

/* ---- The last thing that a program does -------------------------------------- */

static bool write_pieces(int file, const zkl_recorder *recorder) {
    zkl_record_pieces pieces;
    zkl_recorder_take_pieces(recorder, &pieces);
    bool good = true;
    for (size_t i = 0; i < ZKL_RECORD_PIECES && good; i++) {
        good = write_all(file, pieces.list[i].bytes, pieces.list[i].length);
    }
    return good;
}

bool zkl_record_file_dump(const zkl_recorder *recorder, char *path, size_t path_size) {
    int length = snprintf(path, path_size, "%s%" PRId64 ".record",
                          zkl_recorder_file_prefix(recorder), zkl_clock_ms());
    if ((size_t)length >= path_size) {
        return false;
    }
    /* New, so that nobody can have put a link in its place. */
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return false;
    }
    bool good = write_pieces(file, recorder);
    good = close(file) == 0 && good;
    if (!good) {
        (void)unlink(path); /* the part that is missing is the last, which led to it */
    }
    return good;
}

void zkl_assertion_broken(const zkl_recorder *recorder, const char *condition, const char *source,
                          int line) {
    /* Writing may block for ever: stderr may be a pipe that nobody reads, the directory on
     * a server that is gone. Meanwhile libzookeeper's threads would go on telling the
     * servers that we are alive, and nobody else would get the locks of a broken process. */
    zkl_process_must_end_within(LAST_WORDS_S);
    char path[PATH_SIZE];
    bool recorded = recorder != NULL && zkl_record_file_dump(recorder, path, sizeof(path));
    char message[MESSAGE_SIZE];
    snprintf(message, sizeof(message), "zklock: broken assertion: %s (%s:%d); %s%s\n", condition,
             source, line, recorded ? "what led to it is in " : "it left no record",
             recorded ? path : "");
    (void)write_all(STDERR_FILENO, message, strlen(message));
    abort();
}
