#include "client/inquiry.h"

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

/* ---- Answers, with the mutex held -------------------------------------------------------- */

/* Copies the reply, which lives during the callback only. */
static void take_reply(zkl_question *question, const zkl_reply *reply) {
    zkl_pool *pool = &question->inquiry->pool;
    size_t count = reply->children.count;
    const char **names = zkl_pool_take(pool, count * sizeof(*names));
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = zkl_pool_copy_text(pool, reply->children.names[i]);
    }
    question->answered = true;
    question->reply = *reply;
    question->reply.path = NULL;
    if (reply->data != NULL) {
        question->reply.data = zkl_pool_copy(pool, reply->data, reply->data_length);
    }
    question->reply.children = (zkl_children){ names, count };
}

static bool is_final(zkl_outcome outcome) {
    return outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE ||
           outcome == ZKL_OUTCOME_REFUSED || outcome == ZKL_OUTCOME_NOT_EMPTY;
}

static void on_question_reply(void *arg, const zkl_reply *reply) {
    zkl_question *question = arg;
    zkl_inquiry *inquiry = question->inquiry;
    inquiry->under_way--;
    if (is_final(reply->outcome)) {
        take_reply(question, reply);
    } else {
        question->asked_again = question->asked_again || reply->outcome == ZKL_OUTCOME_UNKNOWN;
        inquiry->not_before_ms = zkl_deadline(PAUSE_MS);
    }
    if (inquiry->under_way % WAKE_EVERY == 0) {
        zkl_condition_broadcast(&inquiry->client->changed);
    }
}

/* ---- Asking, with the mutex held ------------------------------------------------------------ */

/* Sends a question. What cannot be sent is answered at once. */
static void ask_one(zkl_inquiry *inquiry, zkl_question *question) {
    zkl_session *session = &inquiry->client->sessions->session;
    bool is_acl = question->kind == ZKL_OPERATION_SET_ACL;
    question->inquiry = inquiry;
    inquiry->under_way++;
    const zkl_operation operation = { .kind = question->kind,
                                      .path = question->path,
                                      .data = question->data,
                                      .acl = is_acl ? question->data : NULL,
                                      .version = ZKL_ANY_VERSION,
                                      .lasts = true };
    zkl_outcome outcome =
        zkl_send(&session->sender, &operation, on_question_reply, question, &question->under_way);
    if (outcome != ZKL_OUTCOME_OK) {
        on_question_reply(question,
                          &(zkl_reply){ .outcome = outcome, .status = ZKL_SERVER_REFUSED });
    }
}

static bool may_ask(const zkl_inquiry *inquiry, int64_t now_ms) {
    return inquiry->client->sessions->session.connected && inquiry->under_way < AT_ONCE &&
           now_ms >= inquiry->not_before_ms;
}

/* Asks what is neither answered nor under way. Returns how many are not answered. */
static size_t ask_more(zkl_inquiry *inquiry, zkl_question *questions, size_t count,
                       int64_t now_ms) {
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (!questions[i].answered && questions[i].under_way == NULL && may_ask(inquiry, now_ms)) {
            ask_one(inquiry, &questions[i]);
        }
        open += questions[i].answered ? 0 : 1;
    }
    return open;
}

static int explain_timeout(const zkl_inquiry *inquiry) {
    zkl_explanation why = zkl_explain_connection(&inquiry->client->sessions->session,
                                                 "they have not answered in time");
    zkl_error_note("servers", NULL, "%s", why.text);
    return ZKL_TIMEOUT;
}

/* Returns ZKL_OK, or why nothing more is to be waited for. A client that is closed has no
 * sessions. */
static int look_at_client(const zkl_inquiry *inquiry) {
    if (inquiry->client->closed) {
        return ZKL_CLOSED;
    }
    ZKL_TRY(zkl_pool_status(&inquiry->pool));
    if (inquiry->client->sessions->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    return zkl_clock_ms() >= inquiry->deadline_ms ? explain_timeout(inquiry) : ZKL_OK;
}

static int wait_until(zkl_inquiry *inquiry, int64_t moment_ms) {
    (void)zkl_condition_wait(&inquiry->client->changed, &inquiry->client->mutex,
                             moment_ms < inquiry->deadline_ms ? moment_ms : inquiry->deadline_ms);
    return look_at_client(inquiry);
}

/* Looks at the clock once to see whether the pause is over, and whether to wait for its end: if it
 * ended between two looks, nothing would be asked and nobody would wake this thread. */
int zkl_inquiry_try(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    ZKL_WITH_MUTEX(&inquiry->client->mutex);
    int status = look_at_client(inquiry);
    int64_t now_ms = zkl_clock_ms();
    while (status == ZKL_OK && ask_more(inquiry, questions, count, now_ms) > 0) {
        bool pauses = inquiry->not_before_ms > now_ms;
        status = wait_until(inquiry, pauses ? inquiry->not_before_ms : INT64_MAX);
        now_ms = zkl_clock_ms();
    }
    for (size_t i = 0; i < count; i++) { /* from here on the caller reads them without the mutex */
        zkl_sent_forget(&questions[i].under_way);
    }
    inquiry->under_way = 0;
    return status == ZKL_OK ? zkl_pool_status(&inquiry->pool) : status;
}

static bool is_refused(const zkl_question *question) {
    zkl_outcome outcome = question->reply.outcome;
    return outcome == ZKL_OUTCOME_REFUSED || outcome == ZKL_OUTCOME_NOT_EMPTY;
}

int zkl_questions_status(const zkl_question *questions, size_t count) {
    const zkl_question *first = NULL;
    size_t refused = 0;
    for (size_t i = 0; i < count; i++) {
        first = first == NULL && is_refused(&questions[i]) ? &questions[i] : first;
        refused += is_refused(&questions[i]) ? 1 : 0;
    }
    if (first == NULL) {
        return ZKL_OK;
    }
    if (refused == 1) {
        zkl_error_note("path", first->path, "the servers refused the request");
    } else {
        zkl_error_note("path", first->path, "the servers refused the request, and %zu more",
                       refused - 1);
    }
    return first->reply.outcome == ZKL_OUTCOME_REFUSED ? first->reply.status : ZKL_SERVER_REFUSED;
}

int zkl_inquiry_ask(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    ZKL_TRY(zkl_inquiry_try(inquiry, questions, count));
    return zkl_questions_status(questions, count);
}

int zkl_inquiry_ask_one(zkl_inquiry *inquiry, zkl_operation_kind kind, const char *path,
                        const char *data, zkl_question **question) {
    *question = zkl_inquiry_questions(inquiry, 1);
    ZKL_TRY(zkl_made(*question));
    **question = (zkl_question){ .kind = kind, .path = path, .data = data };
    return zkl_inquiry_ask(inquiry, *question, 1);
}

int zkl_inquiry_pause(zkl_inquiry *inquiry, int64_t ms) {
    ZKL_WITH_MUTEX(&inquiry->client->mutex);
    int64_t until_ms = zkl_deadline(ms);
    int status = look_at_client(inquiry);
    while (status == ZKL_OK && zkl_clock_ms() < until_ms) {
        status = wait_until(inquiry, until_ms);
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
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(inquiry->client, resource, path);
    return zkl_pool_copy_text(&inquiry->pool, path);
}

const char *zkl_inquiry_full_path(zkl_inquiry *inquiry, const char *path) {
    const char *chroot = inquiry->client->chroot;
    bool is_chroot = strcmp(path, "/") == 0 && chroot[0] != '\0';
    return zkl_pool_print(&inquiry->pool, "%s%s", chroot, is_chroot ? "" : path);
}

const char *zkl_inquiry_child_path(zkl_inquiry *inquiry, const char *parent, const char *name) {
    return parent != NULL ? zkl_pool_print(&inquiry->pool, "%s/%s", parent, name) : NULL;
}

zkl_question *zkl_inquiry_questions(zkl_inquiry *inquiry, size_t count) {
    return zkl_pool_take(&inquiry->pool, count * sizeof(zkl_question));
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

int zkl_inquiry_begin(zkl_inquiry *inquiry, zkl_client *client, int64_t timeout_ms) {
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_range("timeout_ms", timeout_ms, 1, INT64_MAX));
    ZKL_TRY(zkl_check_may_wait());
    *inquiry = (zkl_inquiry){ .client = client, .deadline_ms = zkl_deadline(timeout_ms) };
    ZKL_WITH_MUTEX(&client->mutex);
    zkl_client_keep(client);
    return ZKL_OK;
}

void zkl_inquiry_end(zkl_inquiry *inquiry) {
    zkl_pool_free(&inquiry->pool);
    zkl_client_drop(inquiry->client);
}
