#include "telemetry/assertion.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"
#include "telemetry/record_file.h"

enum { MESSAGE_SIZE = 8192, PATH_SIZE = 4096, LAST_WORDS_S = 5 };

static void say(const char *condition, const char *file, int line, const char *record) {
    char message[MESSAGE_SIZE];
    zkl_text text = { .bytes = message, .size = sizeof(message) - 1 };
    zkl_text_add(&text, "zklock: broken assertion: ");
    zkl_text_add(&text, condition);
    zkl_text_add(&text, " (");
    zkl_text_add(&text, file);
    zkl_text_add_numbered(&text, ":", line);
    zkl_text_add(&text, record != NULL ? "); what led to it is in " : "); it left no record");
    zkl_text_add(&text, record != NULL ? record : "");
    message[text.length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, message, text.length);
    (void)ignored;
}

void zkl_assertion_broken(const zkl_recorder *recorder, const char *condition, const char *file,
                          int line) {
    /* Writing may block for ever: stderr may be a pipe that nobody reads, the directory on
     * a server that is gone. Meanwhile libzookeeper's threads would go on telling the
     * servers that we are alive, and nobody else would get the locks of a broken process. */
    zkl_process_must_end_within(LAST_WORDS_S);
    char path[PATH_SIZE];
    bool recorded = recorder != NULL && zkl_record_file_dump(recorder, path, sizeof(path));
    say(condition, file, line, recorded ? path : NULL);
    abort();
}
