#include "administration/inquiry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_queue.h"
#include "input.h"
#include "threads.h"

/* Before what failed is asked again; and how many answers are worth a look at all questions. */
enum { PAUSE_MS = 100, WAKE_EVERY = ZKL_QUESTIONS_AT_ONCE / 2 };

/* A request under way. It may be answered when its inquiry has long ended. */
struct zkl_question_call {
    zkl_inquiry *inquiry; /* NULL: it has ended */
    zkl_question *question;
};

/* ---- Questions ----------------------------------------------------------------------- */

char *zkl_path_below(const char *parent, const char *name) {
    size_t size = strlen(parent) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", parent, name);
    }
    return path;
}

void zkl_question_begin(zkl_question *question, zkl_operation_kind kind, char *path) {
    *question = (zkl_question){ .kind = kind, .path = path };
}

void zkl_questions_free(zkl_question *questions, size_t count) {
    for (size_t i = 0; questions != NULL && i < count; i++) {
        free(questions[i].path);
        free(questions[i].held);
    }
    free(questions);
}

int zkl_question_status(const zkl_question *question) {
    zkl_outcome outcome = question->reply.outcome;
    if (outcome != ZKL_OUTCOME_REFUSED && outcome != ZKL_OUTCOME_NOT_EMPTY) {
        return ZKL_OK;
    }
    zkl_input_note("path", question->path, "the servers refused the request");
    return outcome == ZKL_OUTCOME_NOT_EMPTY ? ZKL_SERVER_REFUSED : question->reply.status;
}

/* ---- Answers, with the mutex held -------------------------------------------------------- */

static bool copy_data(zkl_question *question, const zkl_reply *reply) {
    if (reply->data == NULL) {
        return true;
    }
    char *copy = malloc(reply->data_length);
    question->held = copy;
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, reply->data, reply->data_length);
    question->reply.data = copy;
    return true;
}

static bool copy_children(zkl_question *question, zkl_children children) {
    if (children.count == 0) {
        return true;
    }
    size_t size = children.count * sizeof(char *);
    for (size_t i = 0; i < children.count; i++) {
        size += strlen(children.names[i]) + 1;
    }
    const char **names = malloc(size);
    question->held = names;
    if (names == NULL) {
        return false;
    }
    char *room = (char *)(names + children.count);
    for (size_t i = 0; i < children.count; i++) {
        size_t length = strlen(children.names[i]) + 1;
        names[i] = memcpy(room, children.names[i], length);
        room += length;
    }
    question->reply.children = (zkl_children){ names, children.count };
    return true;
}

/* Its strings live during the callback only. */
static bool take_reply(zkl_question *question, const zkl_reply *reply) {
    question->answered = true;
    question->reply = *reply;
    question->reply.path = NULL;
    question->reply.data = NULL;
    question->reply.children = (zkl_children){ NULL, 0 };
    return copy_data(question, reply) && copy_children(question, reply->children);
}

static bool is_final(zkl_outcome outcome) {
    return outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE ||
           outcome == ZKL_OUTCOME_REFUSED || outcome == ZKL_OUTCOME_NOT_EMPTY;
}

static void pause_asking(zkl_inquiry *inquiry) {
    inquiry->not_before_ms = zkl_clock_ms() + PAUSE_MS;
}

static void on_reply(void *arg, const zkl_reply *reply) {
    zkl_question_call *call = arg;
    zkl_inquiry *inquiry = call->inquiry;
    zkl_question *question = call->question;
    free(call);
    if (inquiry == NULL) {
        return;
    }
    question->call = NULL;
    inquiry->under_way--;
    if (is_final(reply->outcome)) {
        inquiry->no_memory = !take_reply(question, reply) || inquiry->no_memory;
    } else {
        question->asked_again = question->asked_again || reply->outcome == ZKL_OUTCOME_UNKNOWN;
        pause_asking(inquiry);
    }
    if (inquiry->under_way % WAKE_EVERY == 0) {
        zkl_condition_broadcast(&inquiry->client->changed);
    }
}

/* ---- Asking, with the mutex held ------------------------------------------------------------ */

static zkl_outcome send_request(zkl_session *session, const zkl_question *question) {
    const zkl_operation operation = { .kind = question->kind,
                                      .path = question->path,
                                      .data = question->data,
                                      .version = ZKL_ANY_VERSION,
                                      .lasts = true };
    return zkl_send(&session->sender, &operation, on_reply, question->call);
}

static void note_session(zkl_inquiry *inquiry, const zkl_session *session) {
    inquiry->session_changed =
        inquiry->session_changed ||
        (inquiry->asked && inquiry->session_number != session->sender.session_number);
    inquiry->asked = true;
    inquiry->session_number = session->sender.session_number;
}

/* False: not now. */
static bool ask_one(zkl_inquiry *inquiry, zkl_question *question) {
    zkl_session *session = &inquiry->client->sessions->session;
    zkl_question_call *call = question->path != NULL ? malloc(sizeof(*call)) : NULL;
    if (call == NULL) {
        inquiry->no_memory = true;
        return false;
    }
    *call = (zkl_question_call){ inquiry, question };
    question->call = call;
    zkl_outcome outcome = send_request(session, question);
    if (outcome == ZKL_OUTCOME_OK) {
        note_session(inquiry, session);
        inquiry->under_way++;
        return true;
    }
    free(call);
    question->call = NULL;
    if (outcome == ZKL_OUTCOME_REFUSED) {
        question->answered = true;
        question->reply =
            (zkl_reply){ .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_SERVER_REFUSED };
        return true;
    }
    pause_asking(inquiry);
    return false;
}

static bool may_ask(const zkl_inquiry *inquiry) {
    return inquiry->client->sessions->session.connected &&
           inquiry->under_way < ZKL_QUESTIONS_AT_ONCE && zkl_clock_ms() >= inquiry->not_before_ms;
}

/* Those that are neither answered nor under way. Returns how many are not answered. */
static size_t ask_more(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (questions[i].answered) {
            continue;
        }
        if (questions[i].call == NULL && may_ask(inquiry)) {
            (void)ask_one(inquiry, &questions[i]);
        }
        open += questions[i].answered ? 0 : 1;
    }
    return open;
}

/* ZKL_OK, or why nothing more is to be waited for. A client that is closed has no sessions. */
static int look_at_client(const zkl_inquiry *inquiry) {
    if (inquiry->client->closed) {
        return ZKL_CLOSED;
    }
    if (inquiry->no_memory) {
        return ZKL_NO_MEMORY;
    }
    if (inquiry->client->sessions->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    return zkl_clock_ms() >= inquiry->deadline_ms ? ZKL_TIMEOUT : ZKL_OK;
}

static void wait_until(zkl_inquiry *inquiry, int64_t moment_ms) {
    int64_t until_ms = moment_ms < inquiry->deadline_ms ? moment_ms : inquiry->deadline_ms;
    zkl_condition_wait(&inquiry->client->changed, &inquiry->client->mutex,
                       until_ms - zkl_clock_ms());
}

static void wait_for_answers(zkl_inquiry *inquiry) {
    bool pauses = inquiry->not_before_ms > zkl_clock_ms();
    wait_until(inquiry, pauses ? inquiry->not_before_ms : INT64_MAX);
}

static void abandon(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (questions[i].call != NULL) {
            questions[i].call->inquiry = NULL;
            questions[i].call = NULL;
        }
    }
    inquiry->under_way = 0;
}

int zkl_inquiry_ask(zkl_inquiry *inquiry, zkl_question *questions, size_t count) {
    pthread_mutex_lock(&inquiry->client->mutex);
    int status = look_at_client(inquiry);
    while (status == ZKL_OK && ask_more(inquiry, questions, count) > 0) {
        wait_for_answers(inquiry);
        status = look_at_client(inquiry);
    }
    if (status == ZKL_OK && inquiry->no_memory) {
        status = ZKL_NO_MEMORY;
    }
    abandon(inquiry, questions, count);
    pthread_mutex_unlock(&inquiry->client->mutex);
    return status;
}

int zkl_inquiry_pause(zkl_inquiry *inquiry, int64_t ms) {
    pthread_mutex_lock(&inquiry->client->mutex);
    int64_t now_ms = zkl_clock_ms();
    int64_t until_ms = ms < INT64_MAX - now_ms ? now_ms + ms : INT64_MAX;
    int status = look_at_client(inquiry);
    while (status == ZKL_OK && zkl_clock_ms() < until_ms) {
        wait_until(inquiry, until_ms);
        status = look_at_client(inquiry);
    }
    pthread_mutex_unlock(&inquiry->client->mutex);
    return status;
}

/* ---- Beginning and end -------------------------------------------------------------------------
 */

int zkl_inquiry_begin(zkl_inquiry *inquiry, zkl_client *client, int64_t timeout_ms) {
    int status = zkl_handle_check("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, 1, INT64_MAX);
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    int64_t now_ms = zkl_clock_ms();
    *inquiry = (zkl_inquiry){
        .client = client,
        .deadline_ms = timeout_ms < INT64_MAX - now_ms ? now_ms + timeout_ms : INT64_MAX,
    };
    pthread_mutex_lock(&client->mutex);
    zkl_client_keep(client);
    pthread_mutex_unlock(&client->mutex);
    return ZKL_OK;
}

void zkl_inquiry_end(zkl_inquiry *inquiry) {
    zkl_client_drop(inquiry->client);
}
