#include "support/fake_operations.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

enum { GUID_BYTES = 16, GUID_LENGTH = 36 };

static fake_operations *of(zkl_operations *operations) {
    return (fake_operations *)operations;
}

/* ---- What is heard -------------------------------------------------------- */

void fake_note(fake_operations *fake, const char *format, ...) {
    size_t length = strlen(fake->heard);
    size_t separator = length > 0 ? 2 : 0;
    if (length + separator + 1 >= sizeof(fake->heard)) {
        return; /* far more than any test expects, so the comparison fails */
    }
    memcpy(fake->heard + length, length > 0 ? "; " : "", separator + 1);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fake->heard + length + separator, sizeof(fake->heard) - length - separator, format,
              arguments);
    va_end(arguments);
}

void fake_expect_heard(fake_operations *fake, const char *expected, const char *file, int line) {
    unit_expect_text(fake->heard, expected, "what was heard", file, line);
    fake->heard[0] = '\0';
}

/* Writes a path, with "#1-" for the long form of a GUID. */
static void shorten(char *text, size_t size, const char *verb, const char *path) {
    const char *guid = strstr(path, "/_c_");
    if (guid == NULL || strlen(guid) < strlen("/_c_") + GUID_LENGTH + 1) {
        snprintf(text, size, "%s %s", verb, path);
        return;
    }
    const char *rest = guid + strlen("/_c_") + GUID_LENGTH;
    snprintf(text, size, "%s %.*s/#%c%s", verb, (int)(guid - path), path, guid[strlen("/_c_")],
             rest);
}

/* ---- The table -------------------------------------------------------------- */

static zkl_outcome call(fake_operations *fake, const char *verb, const char *path,
                        zkl_reply_callback *done, void *arg) {
    if (fake->silent_path != NULL && strcmp(path, fake->silent_path) == 0 &&
        strcmp(verb, "exists") == 0) {
        free(arg); /* the sender's memory, which the answer would free */
        return ZKL_OUTCOME_OK;
    }
    fake_call made = { .done = done, .arg = arg };
    shorten(made.text, sizeof(made.text), verb, path);
    snprintf(made.path, sizeof(made.path), "%s", path);
    if (fake->sends != ZKL_OUTCOME_OK) {
        fake_note(fake, "unsent %s", made.text);
        return fake->sends;
    }
    fake_note(fake, "%s", made.text);
    if (fake->call_count < FAKE_CALLS_MAX) {
        fake->calls[fake->call_count++] = made;
    }
    if (fake->called != NULL) {
        fake->called(fake->called_arg);
    }
    return ZKL_OUTCOME_OK;
}

static void write_transaction_verb(const zkl_operation *operation, char *verb, size_t size) {
    const zkl_multi_operation *first = &operation->all[0];
    if (operation->count == 1 && first->kind == ZKL_MULTI_REMOVE) {
        snprintf(verb, size, "remove version %d of", (int)first->version);
    } else if (operation->count == 1 && first->kind == ZKL_MULTI_CHECK) {
        snprintf(verb, size, "check");
    } else {
        snprintf(verb, size, "transact");
    }
}

static zkl_outcome send_operation(zkl_operations *self, const zkl_operation *operation,
                                  zkl_reply_callback *done, void *arg) {
    static const char *const verbs[] = {
        [ZKL_OPERATION_CREATE] = "create",
        [ZKL_OPERATION_CREATE_PARENT] = "make",
        [ZKL_OPERATION_LIST_CHILDREN] = "list",
        [ZKL_OPERATION_EXISTS] = "exists",
        [ZKL_OPERATION_WATCH] = "watch",
        [ZKL_OPERATION_DELETE] = "remove",
        [ZKL_OPERATION_REMOVE_WATCHES] = "unwatch",
        [ZKL_OPERATION_GET] = "get",
        [ZKL_OPERATION_SET] = "set",
        [ZKL_OPERATION_GET_ACL] = "get ACL",
        [ZKL_OPERATION_SET_ACL] = "set ACL",
    };
    fake_operations *fake = of(self);
    char verb[32];
    const char *path = operation->path;
    if (operation->kind == ZKL_OPERATION_TRANSACTION) {
        write_transaction_verb(operation, verb, sizeof(verb));
        path = operation->all[0].path;
    } else {
        snprintf(verb, sizeof(verb), "%s%s", verbs[operation->kind],
                 operation->container                          ? " container"
                 : operation->watch_kind == ZKL_WATCH_CHILDREN ? " children of"
                 : operation->kind == ZKL_OPERATION_LIST_CHILDREN && operation->watch_id != 0
                     ? " and watch"
                     : "");
    }
    if (operation->kind == ZKL_OPERATION_CREATE) {
        snprintf(fake->data, sizeof(fake->data), "%s", operation->data);
    }
    if (operation->watch_id != 0) {
        fake->earlier_watch_id = fake->last_watch_id;
        fake->last_watch_id = operation->watch_id;
    }
    return call(fake, verb, path, done, arg);
}

static int64_t now_ms(zkl_operations *self) {
    return of(self)->now_ms;
}

/* Makes a GUID or the length of a pause, which differ in size. */
static bool random_bytes(zkl_operations *self, void *bytes, size_t size) {
    fake_operations *fake = of(self);
    if (fake->random_fails) {
        return false;
    }
    if (size == GUID_BYTES) {
        fake->guids++;
        memset(bytes, (int)((fake->guids & 0xfU) * 0x11U), size);
    } else if (size == sizeof(fake->jitter)) {
        memcpy(bytes, &fake->jitter, size);
    }
    return true;
}

static void forget_watches(zkl_operations *self, const char *path, zkl_watch_kind kind) {
    fake_note(of(self), "forget%s %s", kind == ZKL_WATCH_CHILDREN ? " children of" : "", path);
}

static void describe_failure(zkl_operations *self, char *text, size_t size) {
    (void)self;
    snprintf(text, size, "127.0.0.1:2181: Connection refused");
}

static const zkl_operations_table table = {
    .send = send_operation,
    .now_ms = now_ms,
    .random = random_bytes,
    .describe_failure = describe_failure,
    .forget_watches = forget_watches,
};

/* ---- Answers ------------------------------------------------------------------ */

static fake_call take(fake_operations *fake, size_t place) {
    fake_call taken = fake->calls[place];
    fake->call_count--;
    memmove(&fake->calls[place], &fake->calls[place + 1],
            (fake->call_count - place) * sizeof(fake_call));
    return taken;
}

void fake_answer(fake_operations *fake, const char *wanted, const zkl_reply *reply,
                 const char *file, int line) {
    size_t place = 0;
    while (place < fake->call_count &&
           strncmp(fake->calls[place].text, wanted, strlen(wanted)) != 0) {
        place++;
    }
    bool found = place < fake->call_count;
    unit_check(found, file, line, "nothing to answer: no \"%s\" waits", wanted);
    if (found) {
        fake_call answered = take(fake, place);
        answered.done(answered.arg, reply);
    }
}

void fake_answer_all(fake_operations *fake, zkl_outcome outcome) {
    for (size_t left = fake->call_count; left > 0; left--) {
        fake_call answered = take(fake, 0);
        answered.done(answered.arg, &(zkl_reply){ .outcome = outcome });
    }
}

/* ---- The rest --------------------------------------------------------------------- */

void fake_begin(fake_operations *fake) {
    memset(fake, 0, sizeof(*fake));
    fake->operations.table = &table;
    fake->now_ms = 1000000;
}

void fake_end(fake_operations *fake) {
    EXPECT_INT(fake->call_count, 0);
    EXPECT_TEXT(fake->heard, "");
}

void fake_name(char name[FAKE_NAME_SIZE], unsigned guid, const char *rest) {
    unsigned g = guid & 0xfU;
    unsigned variant = (g & 0x3U) | 0x8U;
    snprintf(name, FAKE_NAME_SIZE, "_c_%x%x%x%x%x%x%x%x-%x%x%x%x-4%x%x%x-%x%x%x%x-", g, g, g, g, g,
             g, g, g, g, g, g, g, g, g, g, variant, g, g, g);
    size_t length = strlen(name);
    snprintf(name + length, FAKE_NAME_SIZE - length, "%x%x%x%x%x%x%x%x%x%x%x%x-%s", g, g, g, g, g,
             g, g, g, g, g, g, g, rest);
}
