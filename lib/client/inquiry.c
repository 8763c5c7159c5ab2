#include "client/inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "base/callback_queue.h"
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "session/explanation.h"

enum {
    AT_ONCE = 128,            /* questions under way at a time */
    WAKE_EVERY = AT_ONCE / 2, /* answers that are worth a look at all questions */
    PAUSE_MS = 100            /* before what failed is asked again */
};

/* The client's mutex guards it while questions are under way: it stays until all are answered. */
struct zkl_inquiry {
    zkl_client *client; /* NULL: it has ended */
    int64_t deadline_ms;
    int64_t not_before_ms; /* after a failure */
    size_t under_way;
    zkl_pool pool;
};

static void free_inquiry(zkl_inquiry *inquiry) {
    zkl_pool_free(&inquiry->pool);
    free(inquiry);
}

/* ---- Answers, with the mutex held -------------------------------------------------------- */

static void copy_data(zkl_question *question, const zkl_reply *reply) {
    char *copy = zkl_pool_take(&question->inquiry->pool, reply->data_length);
    if (copy != NULL && reply->data_length > 0) {
        memcpy(copy, reply->data, reply->data_length);
    }
    question->reply.data = copy;
}

static void copy_children(zkl_question *question, zkl_children children) {
    size_t size = children.count * sizeof(char *);
    for (size_t i = 0; i < children.count; i++) {
        size += strlen(children.names[i]) + 1;
    }
    const char **names = zkl_pool_take(&question->inquiry->pool, size);
    if (names == NULL) {
        return;
    }
    char *room = (char *)(names + children.count);
    for (size_t i = 0; i < children.count; i++) {
        size_t length = strlen(children.names[i]) + 1;
        names[i] = memcpy(room, children.names[i], length);
        room += length;
    }
    question->reply.children = (zkl_children){ names, children.count };
}

/* Its strings live during the callback only. */
static void take_reply(zkl_question *question, const zkl_reply *reply) {
    question->answered = true;
    question->reply = *reply;
    question->reply.path = NULL;
    question->reply.children = (zkl_children){ NULL, 0 };
    if (reply->data != NULL) {
        copy_data(question, reply);
    }
    copy_children(question, reply->children);
}

static bool is_final(zkl_outcome outcome) {
    return outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE ||
           outcome == ZKL_OUTCOME_REFUSED || outcome == ZKL_OUTCOME_NOT_EMPTY;
}

static void pause_asking(zkl_inquiry *inquiry) {
    inquiry->not_before_ms = zkl_deadline(PAUSE_MS);
}

static void on_reply(void *arg, const zkl_reply *reply) {
    zkl_question *question = arg;
    zkl_inquiry *inquiry = question->inquiry;
    bool is_awaited = question->under_way;
    inquiry->under_way--;
    question->under_way = false;
    if (inquiry->client == NULL) {
        if (inquiry->under_way == 0) {
            free_inquiry(inquiry);
        }
        return;
    }
    if (is_awaited && is_final(reply->outcome)) {
        take_reply(question, reply);
    } else if (is_awaited) {
        question->asked_again = question->asked_again || reply->outcome == ZKL_OUTCOME_UNKNOWN;
        pause_asking(inquiry);
    }
    if (inquiry->under_way % WAKE_EVERY == 0) {
        zkl_condition_broadcast(&inquiry->client->changed);
    }
}

/* ---- Asking, with the mutex held ------------------------------------------------------------ */

static void ask_one(zkl_inquiry *inquiry, zkl_question *question) {
    zkl_session *session = &inquiry->client->sessions->session;
    const zkl_operation operation = { .kind = question->kind,
                                      .path = question->path,
                                      .data = question->data,
                                      .version = ZKL_ANY_VERSION,
                                      .lasts = true };
    zkl_outcome outcome = zkl_send(&session->sender, &operation, on_reply, question);
    if (outcome == ZKL_OUTCOME_OK) {
        question->under_way = true;
        inquiry->under_way++;
    } else if (outcome == ZKL_OUTCOME_REFUSED) {
        question->answered = true;
        question->reply = (zkl_reply){ .outcome = outcome, .status = ZKL_SERVER_REFUSED };
    } else {
        pause_asking(inquiry);
    }
}

static bool may_ask(const zkl_inquiry *inquiry) {
    return inquiry->client->sessions->session.connected && inquiry->under_way < AT_ONCE &&
           zkl_clock_ms() >= inquiry->not_before_ms;
}

/* Those that are neither answered nor under way. Returns how many are not answered. */
static size_t ask_more(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (!questions[i].answered && !questions[i].under_way && may_ask(inquiry)) {
            ask_one(inquiry, &questions[i]);
        }
        open += questions[i].answered ? 0 : 1;
    }
    return open;
}

static int time_out(const zkl_inquiry *inquiry) {
    const zkl_session *session = &inquiry->client->sessions->session;
    zkl_explanation explanation = zkl_explain_connection(session);
    zkl_error_note("servers", NULL, "%s",
                   session->connected ? "they have not answered in time" : explanation.text);
    return ZKL_TIMEOUT;
}

/* ZKL_OK, or why nothing more is to be waited for. A client that is closed has no sessions. */
static int look_at_client(const zkl_inquiry *inquiry) {
    if (inquiry->client->closed) {
        return ZKL_CLOSED;
    }
    ZKL_TRY(zkl_pool_status(&inquiry->pool));
    if (inquiry->client->sessions->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    return zkl_clock_ms() >= inquiry->deadline_ms ? time_out(inquiry) : ZKL_OK;
}

static void wait_until(zkl_inquiry *inquiry, int64_t moment_ms) {
    (void)zkl_wait_until(&inquiry->client->changed, &inquiry->client->mutex,
                         moment_ms < inquiry->deadline_ms ? moment_ms : inquiry->deadline_ms);
}

int zkl_inquiry_ask(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    ZKL_WITH_MUTEX(&inquiry->client->mutex);
    int status = look_at_client(inquiry);
    while (status == ZKL_OK && ask_more(inquiry, questions, count) > 0) {
        bool pauses = inquiry->not_before_ms > zkl_clock_ms();
        wait_until(inquiry, pauses ? inquiry->not_before_ms : INT64_MAX);
        status = look_at_client(inquiry);
    }
    for (size_t i = 0; i < count; i++) { /* from here on the caller reads them without the mutex */
        questions[i].under_way = false;
    }
    return status == ZKL_OK ? zkl_pool_status(&inquiry->pool) : status;
}

int zkl_questions_status(const zkl_question *questions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const zkl_reply *reply = &questions[i].reply;
        if (reply->outcome == ZKL_OUTCOME_REFUSED || reply->outcome == ZKL_OUTCOME_NOT_EMPTY) {
            zkl_error_note("path", questions[i].path, "the servers refused the request");
            return reply->outcome == ZKL_OUTCOME_REFUSED ? reply->status : ZKL_SERVER_REFUSED;
        }
    }
    return ZKL_OK;
}

int zkl_inquiry_ask_one(zkl_inquiry *inquiry, zkl_operation_kind kind, const char *path,
                        const char *data, zkl_question **question) {
    *question = zkl_inquiry_questions(inquiry, 1);
    ZKL_TRY(zkl_made(*question));
    **question = zkl_question_make(inquiry, kind, path);
    (*question)->data = data;
    ZKL_TRY(zkl_inquiry_ask(inquiry, *question, 1));
    return zkl_questions_status(*question, 1);
}

int zkl_inquiry_pause(zkl_inquiry *inquiry, int64_t ms) {
    ZKL_WITH_MUTEX(&inquiry->client->mutex);
    int64_t until_ms = zkl_deadline(ms);
    int status = look_at_client(inquiry);
    while (status == ZKL_OK && zkl_clock_ms() < until_ms) {
        wait_until(inquiry, until_ms);
        status = look_at_client(inquiry);
    }
    return status;
}

uint64_t zkl_inquiry_session(const zkl_inquiry *inquiry) {
    ZKL_WITH_MUTEX(&inquiry->client->mutex);
    const zkl_client *client = inquiry->client;
    return client->closed ? 0 : client->sessions->session.sender.session_number;
}

/* ---- Questions ------------------------------------------------------------------------------ */

const char *zkl_inquiry_lock_root(const zkl_inquiry *inquiry) {
    return inquiry->client->lock_root;
}

const char *zkl_inquiry_path(zkl_inquiry *inquiry, const char *resource) {
    char *path = zkl_pool_take(&inquiry->pool, ZKL_PARENT_PATH_SIZE);
    if (path != NULL) {
        zkl_client_resource_path(inquiry->client, resource, path);
    }
    return path;
}

const char *zkl_inquiry_child_path(zkl_inquiry *inquiry, const char *parent, const char *name) {
    return parent != NULL ? zkl_pool_print(&inquiry->pool, "%s/%s", parent, name) : NULL;
}

zkl_question *zkl_inquiry_questions(zkl_inquiry *inquiry, size_t count) {
    return zkl_pool_take(&inquiry->pool, count * sizeof(zkl_question));
}

zkl_question zkl_question_make(zkl_inquiry *inquiry, zkl_operation_kind kind, const char *path) {
    return (zkl_question){ .inquiry = inquiry, .kind = kind, .path = path };
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

int zkl_inquiry_begin(zkl_client *client, int64_t timeout_ms, zkl_inquiry **inquiry) {
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_range("timeout_ms", timeout_ms, 1, INT64_MAX));
    if (zkl_callback_is_running()) {
        return ZKL_IN_CALLBACK;
    }
    zkl_inquiry *self = calloc(1, sizeof(*self));
    ZKL_TRY(zkl_made(self));
    self->client = client;
    self->deadline_ms = zkl_deadline(timeout_ms);
    ZKL_WITH_MUTEX(&client->mutex);
    zkl_client_keep(client);
    *inquiry = self;
    return ZKL_OK;
}

void zkl_inquiry_end(zkl_inquiry *inquiry) {
    zkl_client *client = inquiry->client;
    pthread_mutex_lock(&client->mutex);
    inquiry->client = NULL;
    bool is_last = inquiry->under_way == 0;
    pthread_mutex_unlock(&client->mutex);
    if (is_last) {
        free_inquiry(inquiry);
    }
    zkl_client_drop(client);
}
