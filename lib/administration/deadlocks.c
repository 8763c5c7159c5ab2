#include <stdlib.h>
#include <string.h>

#include "administration/queue_description.h"
#include "administration/survey.h"
#include "administration/wait_for_graph.h"
#include "input.h"
#include "threads.h"
#include "zklock/administration.h"

/* An owner's node, for finding out which belong together. */
typedef struct belonging {
    const zkl_queue_entry *entry;
    size_t queue;
    size_t owner; /* a number */
} belonging;

/* One wait of a node for another, as the circles are to tell it. */
typedef struct node_wait {
    size_t queue;
    const zkl_queue_entry *waiter;
    const zkl_queue_entry *earlier;
} node_wait;

typedef struct circle {
    size_t first; /* of its waits */
    size_t length;
} circle;

struct zkl_deadlocks {
    zkl_survey survey; /* whose names the resources have */
    zkl_queue **queues;
    size_t *resources; /* which of the survey a queue is of */
    size_t queue_count;
    node_wait *waits;
    size_t wait_count;
    size_t wait_room;
    circle circles[ZKL_DEADLOCKS_MAX];
    size_t circle_count;
    bool limited;
    zkl_deadlock_wait *told; /* the waits of all circles */
    size_t told_count;
    size_t told_room;
    bool no_memory;
    /* While the graph is made. */
    belonging *belongings;
    size_t belonging_count;
    size_t owner_count;
    size_t queue; /* that is just looked at */
};

/* ---- Owners --------------------------------------------------------------------------- */

static int compare_owners(const zkl_contender *one, const zkl_contender *other) {
    if (one->session_id != other->session_id) {
        return one->session_id < other->session_id ? -1 : 1;
    }
    return strcmp(one->identity.owner, other->identity.owner);
}

static int compare_belongings(const void *one, const void *other) {
    return compare_owners(&((const belonging *)one)->entry->contender,
                          &((const belonging *)other)->entry->contender);
}

static int compare_entries(const void *one, const void *other) {
    uintptr_t first = (uintptr_t)((const belonging *)one)->entry; /* of several arrays */
    uintptr_t second = (uintptr_t)((const belonging *)other)->entry;
    return first < second ? -1 : first > second ? 1 : 0;
}

static void collect(zkl_deadlocks *self) {
    for (size_t i = 0; i < self->queue_count; i++) {
        for (size_t j = 0; j < self->queues[i]->count; j++) {
            self->belongings[self->belonging_count++] =
                (belonging){ .entry = &self->queues[i]->entries[j], .queue = i };
        }
    }
}

/* Gives each owner a number, and leaves the nodes in an order in which owner_of finds them. */
static void number_owners(zkl_deadlocks *self) {
    qsort(self->belongings, self->belonging_count, sizeof(belonging), compare_belongings);
    for (size_t i = 0; i < self->belonging_count; i++) {
        bool is_another =
            i == 0 || compare_belongings(&self->belongings[i - 1], &self->belongings[i]) != 0;
        self->owner_count += is_another ? 1 : 0;
        self->belongings[i].owner = self->owner_count - 1;
    }
    qsort(self->belongings, self->belonging_count, sizeof(belonging), compare_entries);
}

static size_t owner_of(const zkl_deadlocks *self, const zkl_queue_entry *entry) {
    const belonging key = { .entry = entry };
    const belonging *found =
        bsearch(&key, self->belongings, self->belonging_count, sizeof(belonging), compare_entries);
    return found->owner;
}

/* ---- Waits ------------------------------------------------------------------------------ */

static bool make_room(zkl_deadlocks *self) {
    if (self->wait_count < self->wait_room) {
        return true;
    }
    size_t room = 2 * self->wait_room + 64;
    node_wait *waits = realloc(self->waits, room * sizeof(*waits));
    if (waits == NULL) {
        self->no_memory = true;
        return false;
    }
    self->waits = waits;
    self->wait_room = room;
    return true;
}

static void add_wait(void *arg, const zkl_queue_entry *waiter, const zkl_queue_entry *earlier) {
    zkl_deadlocks *self = arg;
    if (make_room(self)) {
        self->waits[self->wait_count++] = (node_wait){ self->queue, waiter, earlier };
    }
}

static void collect_waits(zkl_deadlocks *self) {
    for (self->queue = 0; self->queue < self->queue_count; self->queue++) {
        zkl_queue_visit_waits(self->queues[self->queue], add_wait, self);
    }
}

/* ---- Circles ------------------------------------------------------------------------------ */

static bool make_room_to_tell(zkl_deadlocks *self, size_t more) {
    if (self->told_room - self->told_count >= more) {
        return true;
    }
    size_t room = 2 * self->told_room + more;
    zkl_deadlock_wait *told = realloc(self->told, room * sizeof(*told));
    if (told == NULL) {
        self->no_memory = true;
        return false;
    }
    self->told = told;
    self->told_room = room;
    return true;
}

static zkl_deadlock_wait tell(const zkl_deadlocks *self, const node_wait *wait) {
    const zkl_contender *waiter = &wait->waiter->contender;
    return (zkl_deadlock_wait){
        .struct_size = sizeof(zkl_deadlock_wait),
        .resource = zkl_survey_name(&self->survey, self->resources[wait->queue]),
        .node = waiter->node,
        .behind = wait->earlier->contender.node,
        .session_id = waiter->session_id,
        .identity = waiter->identity,
    };
}

static bool add_circle(void *arg, const zkl_wait *const *waits, size_t length) {
    zkl_deadlocks *self = arg;
    if (!make_room_to_tell(self, length)) {
        return false;
    }
    self->circles[self->circle_count++] = (circle){ self->told_count, length };
    for (size_t i = 0; i < length; i++) {
        self->told[self->told_count++] = tell(self, &self->waits[waits[i]->label]);
    }
    self->limited = self->circle_count == ZKL_DEADLOCKS_MAX;
    return !self->limited;
}

static void find_circles(zkl_deadlocks *self, zkl_wait *waits) {
    for (size_t i = 0; i < self->wait_count; i++) {
        waits[i] = (zkl_wait){ owner_of(self, self->waits[i].waiter),
                               owner_of(self, self->waits[i].earlier), i };
    }
    if (!zkl_wait_for_graph_visit_circles(self->owner_count, waits, self->wait_count, add_circle,
                                          self)) {
        self->no_memory = true;
    }
}

static int judge(zkl_deadlocks *self) {
    size_t count = 0;
    for (size_t i = 0; i < self->queue_count; i++) {
        count += self->queues[i]->count;
    }
    self->belongings = calloc(count + 1, sizeof(belonging));
    if (self->belongings == NULL) {
        return ZKL_NO_MEMORY;
    }
    collect(self);
    number_owners(self);
    collect_waits(self);
    zkl_wait *waits = calloc(self->wait_count + 1, sizeof(*waits));
    self->no_memory = self->no_memory || waits == NULL;
    if (!self->no_memory) {
        find_circles(self, waits);
    }
    free(waits);
    return self->no_memory ? ZKL_NO_MEMORY : ZKL_OK;
}

/* ---- The second look ---------------------------------------------------------------------------
 */

static char *node_path(const zkl_inquiry *inquiry, const char *resource, const char *node) {
    char *parent = zkl_path_below(inquiry->client->lock_root, resource);
    char *path = parent != NULL ? zkl_path_below(parent, node) : NULL;
    free(parent);
    return path;
}

/* Two for each wait. */
static void begin_second_look(const zkl_deadlocks *self, const zkl_inquiry *inquiry,
                              zkl_question *questions) {
    for (size_t i = 0; i < self->told_count; i++) {
        const zkl_deadlock_wait *wait = &self->told[i];
        zkl_question_begin(&questions[2 * i], ZKL_OPERATION_EXISTS,
                           node_path(inquiry, wait->resource, wait->node));
        zkl_question_begin(&questions[2 * i + 1], ZKL_OPERATION_EXISTS,
                           node_path(inquiry, wait->resource, wait->behind));
    }
}

static int is_still_there(const circle *one, const zkl_question *questions, bool *there) {
    int status = ZKL_OK;
    *there = true;
    for (size_t i = 2 * one->first; i < 2 * (one->first + one->length); i++) {
        status = status == ZKL_OK ? zkl_question_status(&questions[i]) : status;
        *there = *there && questions[i].reply.outcome == ZKL_OUTCOME_OK;
    }
    return status;
}

static int keep_those_still_there(zkl_deadlocks *self, const zkl_question *questions) {
    size_t kept = 0;
    for (size_t i = 0; i < self->circle_count; i++) {
        bool there = false;
        int status = is_still_there(&self->circles[i], questions, &there);
        if (status != ZKL_OK) {
            return status;
        }
        if (there) {
            self->circles[kept++] = self->circles[i];
        }
    }
    self->circle_count = kept;
    return ZKL_OK;
}

static int look_again(zkl_deadlocks *self, zkl_inquiry *inquiry) {
    zkl_question *questions = calloc(2 * self->told_count + 1, sizeof(*questions));
    if (questions == NULL) {
        return ZKL_NO_MEMORY;
    }
    begin_second_look(self, inquiry, questions);
    int status = zkl_inquiry_ask(inquiry, questions, 2 * self->told_count);
    if (status == ZKL_OK) {
        status = keep_those_still_there(self, questions);
    }
    zkl_questions_free(questions, 2 * self->told_count);
    return status;
}

/* ---- The first look
 * ------------------------------------------------------------------------------ */

/* Where there is only one contender nobody waits. */
static int add_queue(zkl_deadlocks *self, size_t place) {
    const zkl_question *question = &self->survey.questions[place];
    zkl_queue *queue = zkl_queue_make(strdup(question->path), question->reply.children);
    if (queue == NULL) {
        return ZKL_NO_MEMORY;
    }
    if (zkl_queue_count(queue) < 2) {
        zkl_queue_free(queue);
        return ZKL_OK;
    }
    self->resources[self->queue_count] = place;
    self->queues[self->queue_count++] = queue;
    return ZKL_OK;
}

static int make_queues(zkl_deadlocks *self) {
    size_t count = self->survey.count + 1;
    self->queues = (zkl_queue **)calloc(count, sizeof(zkl_queue *));
    self->resources = calloc(count, sizeof(*self->resources));
    int status = self->queues != NULL && self->resources != NULL ? ZKL_OK : ZKL_NO_MEMORY;
    for (size_t i = 0; i < self->survey.count && status == ZKL_OK; i++) {
        status = zkl_question_status(&self->survey.questions[i]);
        if (status == ZKL_OK) {
            status = add_queue(self, i);
        }
    }
    return status;
}

static int find(zkl_deadlocks *self, zkl_inquiry *inquiry) {
    int status = zkl_survey_take(&self->survey, inquiry, ZKL_OPERATION_LIST_CHILDREN);
    if (status == ZKL_OK) {
        status = make_queues(self);
    }
    if (status == ZKL_OK) {
        status = zkl_queues_read(inquiry, self->queues, self->queue_count);
    }
    if (status == ZKL_OK) {
        status = judge(self);
    }
    return status == ZKL_OK ? look_again(self, inquiry) : status;
}

/* A new session may be connected to a server that is behind the one before: what it shows may be
 * older than the first look, and prove nothing. */
static int find_in_one_session(zkl_inquiry *inquiry, zkl_deadlocks **deadlocks) {
    int status = ZKL_OK;
    do {
        zkl_deadlocks_free(*deadlocks);
        inquiry->asked = false;
        inquiry->session_changed = false;
        *deadlocks = calloc(1, sizeof(**deadlocks));
        status = *deadlocks != NULL ? find(*deadlocks, inquiry) : ZKL_NO_MEMORY;
    } while (status == ZKL_OK && inquiry->session_changed);
    return status;
}

int zkl_deadlocks_find(zkl_client *client, int64_t timeout_ms, zkl_deadlocks **deadlocks) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    zkl_inquiry inquiry;
    int status = zkl_input_check_pointer("deadlocks", deadlocks);
    if (status != ZKL_OK) {
        return status;
    }
    *deadlocks = NULL;
    status = zkl_inquiry_begin(&inquiry, client, timeout_ms);
    if (status != ZKL_OK) {
        return status;
    }
    status = find_in_one_session(&inquiry, deadlocks);
    zkl_inquiry_end(&inquiry);
    if (status != ZKL_OK) {
        zkl_deadlocks_free(*deadlocks);
        *deadlocks = NULL;
    }
    return status;
}

/* ---- What was found
 * ---------------------------------------------------------------------------------- */

size_t zkl_deadlocks_count(const zkl_deadlocks *deadlocks) {
    return deadlocks != NULL ? deadlocks->circle_count : 0;
}

int zkl_deadlocks_are_more(const zkl_deadlocks *deadlocks) {
    return deadlocks != NULL && deadlocks->limited ? 1 : 0;
}

size_t zkl_deadlocks_length(const zkl_deadlocks *deadlocks, size_t deadlock) {
    return deadlock < zkl_deadlocks_count(deadlocks) ? deadlocks->circles[deadlock].length : 0;
}

const zkl_deadlock_wait *zkl_deadlocks_get(const zkl_deadlocks *deadlocks, size_t deadlock,
                                           size_t wait) {
    if (wait >= zkl_deadlocks_length(deadlocks, deadlock)) {
        return NULL;
    }
    return &deadlocks->told[deadlocks->circles[deadlock].first + wait];
}

void zkl_deadlocks_free(zkl_deadlocks *deadlocks) {
    if (deadlocks == NULL) {
        return;
    }
    for (size_t i = 0; i < deadlocks->queue_count; i++) {
        zkl_queue_free(deadlocks->queues[i]);
    }
    free(deadlocks->queues);
    free(deadlocks->resources);
    free(deadlocks->waits);
    free(deadlocks->told);
    free(deadlocks->belongings);
    zkl_survey_free(&deadlocks->survey);
    free(deadlocks);
}
