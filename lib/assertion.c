#include "assertion.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_file.h"

enum { MESSAGE_SIZE = 8192, PATH_SIZE = 4096 };

static void say(const char *condition, const char *file, int line, const char *record) {
    char message[MESSAGE_SIZE];
    zkl_text text = { .bytes = message, .size = sizeof(message) - 1 };
    zkl_text_add(&text, "zklock: broken assertion: ");
    zkl_text_add(&text, condition);
    zkl_text_add(&text, " (");
    zkl_text_add(&text, file);
    zkl_text_add(&text, ":");
    zkl_text_add_number(&text, line);
    zkl_text_add(&text, record != NULL ? "); what led to it is in " : "); it left no record");
    zkl_text_add(&text, record != NULL ? record : "");
    message[text.length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, message, text.length);
    (void)ignored;
}

void zkl_assertion_broken(const zkl_recorder *recorder, const char *condition, const char *file,
                          int line) {
    char path[PATH_SIZE];
    bool recorded = recorder != NULL && zkl_record_file_dump(recorder, path, sizeof(path));
    say(condition, file, line, recorded ? path : NULL);
    abort();
}
