#include <stdlib.h>
#include <string.h>

#include "administration/circles.h"
#include "administration/line.h"
#include "administration/survey.h"
#include "base/error_message.h"
#include "base/validation.h"

typedef struct search {
    zkl_deadlocks *result;
    zkl_pool *pool;             /* of what the result points to */
    const zkl_deadlock **found; /* the result's */
    zkl_survey survey;
    zkl_line line;
    size_t owner_count;
    zkl_wait *waits;
    size_t wait_count;
} search;

/* ---- Owners --------------------------------------------------------------------------- */

static int compare_owners(const void *one, const void *other) {
    const zkl_contender *first = &(*(zkl_line_entry *const *)one)->contender;
    const zkl_contender *second = &(*(zkl_line_entry *const *)other)->contender;
    if (first->session_id != second->session_id) {
        return first->session_id < second->session_id ? -1 : 1;
    }
    return strcmp(first->identity.owner, second->identity.owner);
}

/* Gives each owner a number. */
static int number_owners(search *self) {
    size_t count = self->line.count;
    zkl_line_entry **entries = zkl_pool_take(self->pool, count * sizeof(zkl_line_entry *));
    ZKL_TRY(zkl_made(entries));
    for (size_t i = 0; i < count; i++) {
        entries[i] = &self->line.entries[i];
    }
    qsort(entries, count, sizeof(zkl_line_entry *), compare_owners);
    for (size_t i = 0; i < count; i++) {
        bool is_another = i == 0 || compare_owners(&entries[i - 1], &entries[i]) != 0;
        self->owner_count += is_another ? 1 : 0;
        entries[i]->owner = self->owner_count - 1;
    }
    return ZKL_OK;
}

/* They are counted first. */
static void add_wait(void *arg, size_t waiter, size_t earlier) {
    search *self = arg;
    const zkl_line_entry *entries = self->line.entries;
    if (self->waits != NULL) {
        self->waits[self->wait_count] =
            (zkl_wait){ entries[waiter].owner, entries[earlier].owner, waiter, earlier };
    }
    self->wait_count++;
}

/* ---- Circles ------------------------------------------------------------------------------ */

static zkl_deadlock_wait describe(const search *self, const zkl_wait *wait) {
    const zkl_line_entry *entries = self->line.entries;
    const zkl_contender *waiter = &entries[wait->waiter].contender;
    const char *resource = zkl_survey_name(&self->survey, entries[wait->waiter].resource);
    return (zkl_deadlock_wait){
        .struct_size = sizeof(zkl_deadlock_wait),
        .resource = zkl_pool_print(self->pool, "%s", resource),
        .node = waiter->node,
        .behind = entries[wait->earlier].contender.node,
        .session_id = waiter->session_id,
        .identity = waiter->identity,
    };
}

static bool add_circle(void *arg, const zkl_wait *const *waits, size_t length) {
    search *self = arg;
    zkl_deadlock *told = zkl_pool_take(self->pool, sizeof(*told));
    zkl_deadlock_wait *its = zkl_pool_take(self->pool, length * sizeof(*its));
    const zkl_deadlock_wait **pointers =
        zkl_pool_take(self->pool, (length + 1) * sizeof(zkl_deadlock_wait *));
    if (zkl_pool_status(self->pool) != ZKL_OK) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        its[i] = describe(self, waits[i]);
        pointers[i] = &its[i];
    }
    *told = (zkl_deadlock){ sizeof(*told), length, pointers };
    self->found[self->result->count++] = told;
    self->result->are_more = self->result->count == ZKL_DEADLOCKS_MAX;
    return self->result->are_more == 0;
}

static int find_circles(search *self) {
    ZKL_TRY(number_owners(self));
    zkl_line_visit_waits(&self->line, add_wait, self);
    self->waits = zkl_pool_take(self->pool, self->wait_count * sizeof(*self->waits));
    self->found = zkl_pool_take(self->pool, (ZKL_DEADLOCKS_MAX + 1) * sizeof(zkl_deadlock *));
    self->result->deadlocks = self->found;
    ZKL_TRY(zkl_made(self->waits));
    ZKL_TRY(zkl_made(self->found));
    self->wait_count = 0;
    zkl_line_visit_waits(&self->line, add_wait, self);
    bool done =
        zkl_circles_visit(self->owner_count, self->waits, self->wait_count, add_circle, self);
    return done ? zkl_pool_status(self->pool) : ZKL_NO_MEMORY;
}

/* ---- The second look ---------------------------------------------------------------------- */

/* Each owner's node, and that which it waits for, which may be another of the next owner's. */
static int is_still_there(zkl_inquiry *inquiry, const zkl_deadlock *one, bool *there) {
    size_t count = 2 * one->length;
    zkl_question *questions = zkl_inquiry_questions(inquiry, count);
    ZKL_TRY(zkl_made(questions));
    for (size_t i = 0; i < count; i++) {
        const zkl_deadlock_wait *wait = one->waits[i / 2];
        const char *parent =
            zkl_inquiry_child_path(inquiry, zkl_inquiry_lock_root(inquiry), wait->resource);
        const char *path =
            zkl_inquiry_child_path(inquiry, parent, i % 2 == 0 ? wait->node : wait->behind);
        questions[i] = zkl_question_make(inquiry, ZKL_OPERATION_EXISTS, path);
    }
    ZKL_TRY(zkl_inquiry_ask(inquiry, questions, count));
    ZKL_TRY(zkl_questions_status(questions, count));
    *there = true;
    for (size_t i = 0; i < count; i++) {
        *there = *there && questions[i].reply.outcome == ZKL_OUTCOME_OK;
    }
    return ZKL_OK;
}

static int look_again(search *self, zkl_inquiry *inquiry) {
    size_t count = self->result->count;
    self->result->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool there = false;
        ZKL_TRY(is_still_there(inquiry, self->found[i], &there));
        if (there) {
            self->found[self->result->count++] = self->found[i];
        }
    }
    self->found[self->result->count] = NULL;
    return ZKL_OK;
}

/* ---- The first look ------------------------------------------------------------------------- */

static int find(search *self, zkl_inquiry *inquiry) {
    zkl_survey *survey = &self->survey;
    ZKL_TRY(zkl_survey_take(survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    ZKL_TRY(zkl_line_read(&self->line, self->pool, inquiry, survey->questions, survey->count, 2));
    ZKL_TRY(find_circles(self));
    return look_again(self, inquiry);
}

/* A new session may be connected to a server that is behind the one before: what it shows may be
 * older than the first look, and prove nothing. */
static int find_in_one_session(zkl_report *report, zkl_inquiry *inquiry, const char *none) {
    (void)none;
    uint64_t session = 0;
    do {
        session = zkl_inquiry_session(inquiry);
        search self = { .result = &report->deadlocks, .pool = &report->pool };
        report->deadlocks = (zkl_deadlocks){ .count = 0 };
        ZKL_TRY(find(&self, inquiry));
    } while (zkl_inquiry_session(inquiry) != session);
    return ZKL_OK;
}

int zkl_deadlocks_find(zkl_client *client, int64_t timeout_ms, zkl_deadlocks **deadlocks) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("deadlocks", deadlocks));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, NULL, find_in_one_session, &made);
    *deadlocks = made;
    return status;
}

void zkl_deadlocks_free(zkl_deadlocks *deadlocks) {
    zkl_report_free(deadlocks);
}
