#include "telemetry/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"

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
    int why = errno;
    bool closed = close(file) == 0;
    if (!good) {
        errno = why;
    }
    return good && closed;
}

/* In the same directory, for mkostemp. Not the file's own name and more: that may be as
 * long as a name can be. */
static char *name_beside(const char *path) {
    static const char name[] = "zklock.XXXXXX";
    const char *slash = strrchr(path, '/');
    size_t directory = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *beside = malloc(directory + sizeof(name));
    if (beside != NULL) {
        memcpy(beside, path, directory);
        memcpy(beside + directory, name, sizeof(name));
    }
    return beside;
}

bool zkl_record_file_write(const char *path, const char *bytes, size_t length) {
    char *beside = name_beside(path);
    if (beside == NULL) {
        return false;
    }
    int file = mkostemp(beside, O_CLOEXEC);
    bool good = file >= 0 && fill(file, bytes, length) && rename(beside, path) == 0;
    int why = errno;
    if (!good && file >= 0) {
        (void)unlink(beside);
    }
    free(beside);
    errno = why;
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
    zkl_text text = { .bytes = path, .size = path_size - 1 };
    zkl_text_add(&text, zkl_recorder_file_prefix(recorder));
    zkl_text_add_number(&text, zkl_clock_ms());
    zkl_text_add(&text, ".record");
    path[text.length] = '\0';
    if (text.too_long) {
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
