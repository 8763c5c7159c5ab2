#include "telemetry/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"

enum { MESSAGE_SIZE = 8192, PATH_SIZE = 4096, PIECE_SIZE = 4096, LAST_WORDS_S = 5 };

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

/* ---- Text in a file ---------------------------------------------------------- */

typedef struct file_text {
    zkl_text text;
    int file;
    bool good;
    char bytes[PIECE_SIZE];
} file_text;

static void write_piece(zkl_text *text) {
    file_text *self = (file_text *)text;
    self->good = self->good && write_all(self->file, text->bytes, text->length);
    text->length = 0;
}

static bool write_snapshot(int file, const zkl_record_snapshot *snapshot) {
    file_text self;
    self.text = (zkl_text){ .bytes = self.bytes, .size = PIECE_SIZE, .full = write_piece };
    self.file = file;
    self.good = true;
    zkl_record_snapshot_write(snapshot, &self.text);
    write_piece(&self.text);
    return self.good;
}

/* ---- A file as a whole ------------------------------------------------------ */

static bool fill(int file, const zkl_record_snapshot *snapshot) {
    bool good = write_snapshot(file, snapshot) && fsync(file) == 0;
    return close(file) == 0 && good;
}

bool zkl_record_file_write(const char *path, const zkl_record_snapshot *snapshot) {
    static const char name[] = "zklock.XXXXXX";
    /* In the same directory. Not the file's own name and more: that may be as long as a name can
     * be. */
    const char *slash = strrchr(path, '/');
    int directory = slash != NULL ? (int)(slash - path) + 1 : 0;
    char beside[ZKL_FILE_NAME_MAX + sizeof(name)];
    snprintf(beside, sizeof(beside), "%.*s%s", directory, path, name);
    int file = mkostemp(beside, O_CLOEXEC);
    bool good = file >= 0 && fill(file, snapshot) && rename(beside, path) == 0;
    if (!good && file >= 0) {
        int why = errno;
        (void)unlink(beside);
        errno = why;
    }
    return good;
}

/* ---- The last thing that a program does -------------------------------------- */

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
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(recorder, NULL);
    bool good = write_snapshot(file, &snapshot);
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
    /* Not on the stack, which may be a small one: no other thread gets here. */
    static char path[PATH_SIZE];
    static char message[MESSAGE_SIZE];
    bool recorded = recorder != NULL && zkl_record_file_dump(recorder, path, sizeof(path));
    snprintf(message, sizeof(message), "zklock: broken assertion: %s (%s:%d); %s%s\n", condition,
             source, line, recorded ? "what led to it is in " : "it left no record",
             recorded ? path : "");
    (void)write_all(STDERR_FILENO, message, strlen(message));
    abort();
}
