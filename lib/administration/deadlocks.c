#include <stdlib.h>
#include <string.h>

#include "administration/circles.h"
#include "administration/line.h"
#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/try.h"
#include "base/validation.h"

/* One wait of a node for another. */
typedef struct node_wait {
    const zkl_line_entry *waiter;
    const zkl_line_entry *earlier;
} node_wait;

/* All that is read is in the result's pool, as it is told from there. */
typedef struct search {
    zkl_deadlocks *result;
    const zkl_deadlock **found; /* the result's */
    zkl_line *lines;
    size_t line_count;
    size_t owner_count;
    node_wait *waits;
    size_t wait_count;
    bool no_memory;
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
    size_t count = 0;
    for (size_t i = 0; i < self->line_count; i++) {
        count += self->lines[i].count;
    }
    zkl_line_entry **entries = zkl_pool_take(self->result, count * sizeof(zkl_line_entry *));
    if (entries == NULL) {
        return ZKL_NO_MEMORY;
    }
    size_t next = 0;
    for (size_t i = 0; i < self->line_count; i++) {
        for (size_t j = 0; j < self->lines[i].count; j++) {
            entries[next++] = &self->lines[i].entries[j];
        }
    }
    qsort(entries, count, sizeof(zkl_line_entry *), compare_owners);
    for (size_t i = 0; i < count; i++) {
        bool is_another = i == 0 || compare_owners(&entries[i - 1], &entries[i]) != 0;
        self->owner_count += is_another ? 1 : 0;
        entries[i]->owner = self->owner_count - 1;
    }
    return ZKL_OK;
}

/* ---- Waits ------------------------------------------------------------------------------ */

/* They are counted first. */
static void add_wait(void *arg, const zkl_line_entry *waiter, const zkl_line_entry *earlier) {
    search *self = arg;
    if (self->waits != NULL) {
        self->waits[self->wait_count] = (node_wait){ waiter, earlier };
    }
    self->wait_count++;
}

static void visit_waits(search *self) {
    self->wait_count = 0;
    for (size_t i = 0; i < self->line_count; i++) {
        zkl_line_visit_waits(&self->lines[i], add_wait, self);
    }
}

/* ---- Circles ------------------------------------------------------------------------------ */

static bool tell_wait(search *self, const node_wait *wait, const zkl_deadlock_wait **place) {
    const zkl_contender *waiter = &wait->waiter->contender;
    zkl_deadlock_wait *told = zkl_pool_take(self->result, sizeof(*told));
    *place = told;
    if (told == NULL) {
        return false;
    }
    *told = (zkl_deadlock_wait){
        .struct_size = sizeof(*told),
        .resource = wait->waiter->resource,
        .node = waiter->node,
        .behind = wait->earlier->contender.node,
        .session_id = waiter->session_id,
        .identity = waiter->identity,
    };
    return true;
}

static bool add_circle(void *arg, const zkl_wait *const *waits, size_t length) {
    search *self = arg;
    zkl_deadlock *told = zkl_pool_take(self->result, sizeof(*told));
    const zkl_deadlock_wait **its =
        zkl_pool_take(self->result, (length + 1) * sizeof(zkl_deadlock_wait *));
    self->no_memory = told == NULL || its == NULL;
    for (size_t i = 0; i < length && !self->no_memory; i++) {
        self->no_memory = !tell_wait(self, &self->waits[waits[i]->label], &its[i]);
    }
    if (self->no_memory) {
        return false;
    }
    *told = (zkl_deadlock){ sizeof(*told), length, its };
    self->found[self->result->count++] = told;
    self->result->are_more = self->result->count == ZKL_DEADLOCKS_MAX;
    return self->result->are_more == 0;
}

static int find_circles(search *self) {
    ZKL_TRY(number_owners(self));
    visit_waits(self);
    zkl_wait *waits = zkl_pool_take(self->result, self->wait_count * sizeof(*waits));
    self->waits = zkl_pool_take(self->result, self->wait_count * sizeof(*self->waits));
    self->found = zkl_pool_take(self->result, (ZKL_DEADLOCKS_MAX + 1) * sizeof(zkl_deadlock *));
    self->result->deadlocks = self->found;
    if (waits == NULL || self->waits == NULL || self->found == NULL) {
        return ZKL_NO_MEMORY;
    }
    visit_waits(self);
    for (size_t i = 0; i < self->wait_count; i++) {
        waits[i] = (zkl_wait){ self->waits[i].waiter->owner, self->waits[i].earlier->owner, i };
    }
    bool done = zkl_circles_visit(self->owner_count, waits, self->wait_count, add_circle, self);
    return done && !self->no_memory ? ZKL_OK : ZKL_NO_MEMORY;
}

/* ---- The second look ---------------------------------------------------------------------- */

/* Each owner's node, and that which it waits for, which may be another of the next owner's. */
static int is_still_there(zkl_inquiry *inquiry, const zkl_deadlock *one, bool *there) {
    zkl_question *questions = zkl_inquiry_questions(inquiry, 2 * one->length);
    if (questions == NULL) {
        return ZKL_NO_MEMORY;
    }
    for (size_t i = 0; i < one->length; i++) {
        const zkl_deadlock_wait *wait = one->waits[i];
        const char *parent = zkl_pool_path(inquiry, zkl_inquiry_lock_root(inquiry), wait->resource);
        questions[2 * i] = zkl_question_make(inquiry, ZKL_OPERATION_EXISTS,
                                             zkl_pool_path(inquiry, parent, wait->node));
        questions[2 * i + 1] = zkl_question_make(inquiry, ZKL_OPERATION_EXISTS,
                                                 zkl_pool_path(inquiry, parent, wait->behind));
    }
    ZKL_TRY(zkl_inquiry_ask(inquiry, questions, 2 * one->length));
    ZKL_TRY(zkl_questions_status(questions, 2 * one->length));
    *there = true;
    for (size_t i = 0; i < 2 * one->length; i++) {
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

static int add_line(search *self, const zkl_question *question, const char *name) {
    zkl_line *line = &self->lines[self->line_count];
    const char *resource = zkl_pool_text(self->result, name);
    ZKL_TRY(zkl_line_make(line, self->result, question->path, question->reply.children));
    for (size_t i = 0; i < line->count; i++) {
        line->entries[i].resource = resource;
    }
    self->line_count += line->count > 1 ? 1 : 0; /* else nobody waits */
    return resource != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static int find(search *self, zkl_inquiry *inquiry) {
    zkl_survey survey;
    ZKL_TRY(zkl_survey_take(&survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    ZKL_TRY(zkl_questions_status(survey.questions, survey.count));
    self->lines = zkl_pool_take(self->result, (survey.count + 1) * sizeof(*self->lines));
    if (self->lines == NULL) {
        return ZKL_NO_MEMORY;
    }
    for (size_t i = 0; i < survey.count; i++) {
        ZKL_TRY(add_line(self, &survey.questions[i], zkl_survey_name(&survey, i)));
    }
    ZKL_TRY(zkl_lines_read(self->lines, self->line_count, self->result, inquiry));
    ZKL_TRY(find_circles(self));
    return look_again(self, inquiry);
}

/* A new session may be connected to a server that is behind the one before: what it shows may be
 * older than the first look, and prove nothing. */
static int find_in_one_session(zkl_inquiry *inquiry, zkl_deadlocks **result) {
    int status = ZKL_OK;
    do {
        zkl_pool_free(*result);
        *result = zkl_pool_make(sizeof(**result));
        search self = { .result = *result };
        status = *result != NULL ? find(&self, inquiry) : ZKL_NO_MEMORY;
    } while (zkl_inquiry_changed_session(inquiry) && status == ZKL_OK);
    return status;
}

int zkl_deadlocks_find(zkl_client *client, int64_t timeout_ms, zkl_deadlocks **deadlocks) {
    ZKL_BEGIN_CALL;
    zkl_inquiry *inquiry = NULL;
    ZKL_TRY(zkl_validate_pointer("deadlocks", deadlocks));
    *deadlocks = NULL;
    ZKL_TRY(zkl_inquiry_begin(client, timeout_ms, &inquiry));
    int status = find_in_one_session(inquiry, deadlocks);
    zkl_inquiry_end(inquiry);
    if (status != ZKL_OK) {
        zkl_pool_free(*deadlocks);
        *deadlocks = NULL;
    }
    return status;
}

void zkl_deadlocks_free(zkl_deadlocks *deadlocks) {
    zkl_pool_free(deadlocks);
}
