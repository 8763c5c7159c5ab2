/*
 * What libzookeeper passes on of a reply that it could not read, or of a server that lies. The
 * first byte of the input is the operation, the second the error (0: none), the third the length
 * that the server says the data have. What follows are strings with a NUL at the end of each; "-"
 * stands for one that is missing. What must hold:
 *
 *     there is one reply;
 *     a path has a name at its end, and no name, path or datum is missing in what counts as done;
 *     data are no longer than what came.
 */
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "base/threads.h"
#include "connection/connection.h"
#include "fuzz.h"
#include "support/asked.h"
#include "support/check.h"

enum { STRINGS_MAX = 8, ENDS_THE_CLIENT = -124 /* it shows no authentication */ };

/* ---- Who asks, and looks at the reply ------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int replies;

static void on_session(void *arg, const zkl_session_news *news) {
    (void)arg, (void)news;
}

static void on_answered(void *arg) {
    (void)arg;
}

static size_t length_of(const char *path) {
    const char *last = strrchr(path, '/');
    return last != NULL ? strlen(last + 1) : 0;
}

/* What is read to the end a sanitizer sees. */
static void on_reply(void *arg, const zkl_reply *reply) {
    const zkl_operation *operation = arg;
    bool done = reply->outcome == ZKL_OUTCOME_OK;
    size_t bytes = 0;
    replies++;
    EXPECT(operation->kind != ZKL_OPERATION_CREATE || !done || reply->path != NULL);
    EXPECT(reply->path == NULL || length_of(reply->path) > 0);
    for (size_t i = 0; i < reply->children.count; i++) {
        bytes += strlen(reply->children.names[i]);
    }
    for (size_t i = 0; reply->data != NULL && i < reply->data_length; i++) {
        bytes += reply->data[i] != '\0' ? 1 : 0;
    }
    EXPECT(reply->data != NULL || operation->kind != ZKL_OPERATION_GET || reply->data_length == 0);
    EXPECT(!done || operation->kind != ZKL_OPERATION_GET_ACL || reply->data != NULL);
    EXPECT(!done || operation->kind != ZKL_OPERATION_TRANSACTION ||
           length_of(reply->results[1].path) > 0);
    EXPECT(bytes < SIZE_MAX);
}

/* One for all inputs: libzookeeper, which finds no server, is started once. */
static zkl_operations *connected(void) {
    static zkl_connection *connection;
    if (connection == NULL) {
        zkl_listener listener = { .session = on_session, .answered = on_answered };
        zoo_set_debug_level((ZooLogLevel)0);
        connection = zkl_connection_make(&mutex, &listener);
        EXPECT(zkl_connection_open(connection, "127.0.0.1:1", 1 << 30) == ZKL_OK);
    }
    return zkl_connection_operations(connection);
}

/* ---- What is answered ----------------------------------------------------------------------- */

typedef struct strings {
    char *all[STRINGS_MAX];
    int32_t count;
} strings;

static strings read_strings(fuzz_bytes *bytes) {
    strings read = { .count = 0 };
    while (bytes->size > 0 && read.count < STRINGS_MAX) {
        char *text = fuzz_text(bytes->data, bytes->size);
        size_t size = strlen(text) + 1;
        bytes->data += size < bytes->size ? size : bytes->size;
        bytes->size -= size < bytes->size ? size : bytes->size;
        if (strcmp(text, "-") == 0) {
            free(text);
            text = NULL;
        }
        read.all[read.count++] = text;
    }
    return read;
}

static void answer_acl(int rc, const strings *given) {
    struct ACL entries[STRINGS_MAX / 2];
    struct ACL_vector acl = { .count = given->count / 2, .data = entries };
    for (int32_t i = 0; i < acl.count; i++) {
        entries[i] = (struct ACL){ .perms = i, .id = { given->all[2 * i], given->all[2 * i + 1] } };
    }
    asked.got_acl(rc, rc == ZOK ? &acl : NULL, NULL, asked.data);
}

static void answer(zkl_operation_kind kind, int rc, int32_t length, const strings *given) {
    char *first = given->count > 0 ? given->all[0] : NULL;
    struct Stat stat = { .dataLength = length };
    struct String_vector names = { given->count, (char **)given->all };
    switch (kind) {
    case ZKL_OPERATION_LIST_CHILDREN:
        asked.listed(rc, rc == ZOK ? &names : NULL, asked.data);
        break;
    case ZKL_OPERATION_GET:
        asked.got(rc, first, first != NULL ? (int)strlen(first) : length, &stat, asked.data);
        break;
    case ZKL_OPERATION_GET_ACL:
        answer_acl(rc, given);
        break;
    case ZKL_OPERATION_TRANSACTION:
        asked.results[1].value = first;
        asked.transacted(rc, asked.data);
        break;
    default:
        asked.created(rc, first, &stat, asked.data);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const zkl_operation_kind kinds[] = {
        ZKL_OPERATION_CREATE, ZKL_OPERATION_CREATE_PARENT, ZKL_OPERATION_LIST_CHILDREN,
        ZKL_OPERATION_GET,    ZKL_OPERATION_GET_ACL,       ZKL_OPERATION_TRANSACTION
    };
    static const zkl_multi_operation all[] = {
        { .kind = ZKL_MULTI_CHECK, .path = "/locks/stock/node", .version = ZKL_ANY_VERSION },
        { .kind = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL, .path = "/locks/stock/n-" },
    };
    fuzz_bytes bytes = { data, size };
    zkl_operation operation = { .path = "/locks/stock", .data = "", .all = all, .count = 2 };
    operation.kind = kinds[fuzz_take(&bytes, 0) % (sizeof(kinds) / sizeof(kinds[0]))];
    int rc = -(int)fuzz_take(&bytes, 0);
    rc = rc == ENDS_THE_CLIENT ? ZCONNECTIONLOSS : rc;
    int32_t length = (int8_t)fuzz_take(&bytes, 0) * (1 << 24);
    strings given = read_strings(&bytes);
    zkl_operations *operations = connected();
    replies = 0;
    pthread_mutex_lock(&mutex);
    EXPECT(operations->table->send(operations, &operation, on_reply, &operation) == ZKL_OUTCOME_OK);
    pthread_mutex_unlock(&mutex);
    answer(operation.kind, rc, length, &given);
    EXPECT(replies == 1);
    for (int32_t i = 0; i < given.count; i++) {
        free(given.all[i]);
    }
    return 0;
}
