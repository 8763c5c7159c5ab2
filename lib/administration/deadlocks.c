#include <stdlib.h>
#include <string.h>
#include <utlist.h>

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
    zkl_line_entry **owners; /* one entry of each, by its number: in the order of compare_owners */
    zkl_wait *waits;
} search;

/* ---- Owners --------------------------------------------------------------------------- */

static bool is_of_many_sessions(const zkl_contender *one) {
    return strncmp(one->identity.owner, ZKL_OWNER_SHARED, strlen(ZKL_OWNER_SHARED)) == 0;
}

/* Those that sessions share come before all others. */
static int compare_owners(const void *one, const void *other) {
    const zkl_contender *first = &(*(zkl_line_entry *const *)one)->contender;
    const zkl_contender *second = &(*(zkl_line_entry *const *)other)->contender;
    bool is_shared_one = is_of_many_sessions(first);
    if (is_shared_one != is_of_many_sessions(second)) {
        return is_shared_one ? -1 : 1;
    }
    if (!is_shared_one && first->session_id != second->session_id) {
        return first->session_id < second->session_id ? -1 : 1;
    }
    return strcmp(first->identity.owner, second->identity.owner);
}

/* Gives each owner a number. */
static int number_owners(search *self) {
    size_t count = self->line.count;
    zkl_line_entry **entries = zkl_pool_take(self->pool, count * sizeof(zkl_line_entry *));
    self->owners = zkl_pool_take(self->pool, count * sizeof(zkl_line_entry *));
    ZKL_TRY(zkl_pool_status(self->pool));
    for (size_t i = 0; i < count; i++) {
        entries[i] = &self->line.entries[i];
    }
    qsort(entries, count, sizeof(zkl_line_entry *), compare_owners);
    for (size_t i = 0; i < count; i++) {
        bool is_another = i == 0 || compare_owners(&entries[i - 1], &entries[i]) != 0;
        self->owner_count += is_another ? 1 : 0;
        entries[i]->owner = self->owner_count - 1;
        self->owners[entries[i]->owner] = entries[i];
    }
    return ZKL_OK;
}

/* NULL: it has no node in the line, so nobody waits for it. */
static const zkl_line_entry *find_shared_owner(const search *self, const char *name) {
    zkl_line_entry wanted = { .contender.identity.owner = name };
    zkl_line_entry *key = &wanted;
    zkl_line_entry **found =
        bsearch(&key, self->owners, self->owner_count, sizeof(zkl_line_entry *), compare_owners);
    return found != NULL ? *found : NULL;
}

/* ---- Who waits for whom ------------------------------------------------------------------- */

static bool is_reader(const zkl_line_entry *entry) {
    return entry->member.name.kind == ZKL_NODE_READ;
}

/* A waiter for one of several permits continues as soon as any of their holders has gone: it waits
 * for none of them in particular. */
static bool waits_for_each(const zkl_line_entry *entry) {
    return zkl_contenders_room(entry->member.name.permits) == 1;
}

/* Whether it need not wait for all that is before it. */
static bool is_shared(const zkl_line_entry *entry) {
    return is_reader(entry) || !waits_for_each(entry);
}

static void add_wait_of(search *self, size_t owner, const zkl_line_entry *own,
                        const zkl_line_entry *earlier) {
    zkl_wait *wait = zkl_pool_take(self->pool, sizeof(*wait));
    if (wait != NULL) {
        *wait = (zkl_wait){ .from = owner,
                            .to = earlier->owner,
                            .waiter = (size_t)(own - self->line.entries),
                            .earlier = (size_t)(earlier - self->line.entries) };
        LL_PREPEND(self->waits, wait);
    }
}

/* While a part of a job waits, so does the job, which may hold what others wait for. Its other
 * parts go on. */
static void add_wait(search *self, const zkl_line_entry *own, const zkl_line_entry *earlier) {
    const char *name = own->contender.identity.owner;
    add_wait_of(self, own->owner, own, earlier);
    const char *slash = is_of_many_sessions(&own->contender) ? strchr(name, '/') : NULL;
    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *whole = zkl_pool_print(self->pool, "%.*s", (int)(slash - name), name);
        const zkl_line_entry *job = whole != NULL ? find_shared_owner(self, whole) : NULL;
        if (job != NULL) {
            add_wait_of(self, job->owner, own, earlier);
        }
    }
}

/* Its direct waits, from which all others follow. The nearest request in the way waits itself for
 * all that is before it, unless it is a reader or one of several permits: then those next to it are
 * in the way as well, and what they wait for. What all of these wait for need not be told; what one
 * of them does not wait for (as a writer that has been downgraded to that reader) must be. */
static void add_waits_of(search *self, const zkl_line_entry *own) {
    const zkl_line_entry *shared = NULL;
    const zkl_line_entry *earlier = zkl_line_find_nearest(&self->line, own, own);
    while (earlier != NULL && is_shared(earlier)) {
        add_wait(self, own, earlier);
        shared = earlier;
        earlier = zkl_line_find_nearest(&self->line, own, earlier);
    }
    bool follows = earlier != NULL && shared != NULL && is_reader(shared) &&
                   zkl_neighbour_blocks(earlier->member, shared->member);
    if (earlier != NULL && !follows) {
        add_wait(self, own, earlier);
    }
}

static void add_waits(search *self) {
    for (size_t i = 0; i < self->line.count; i++) {
        if (waits_for_each(&self->line.entries[i])) {
            add_waits_of(self, &self->line.entries[i]);
        }
    }
}

/* ---- Circles ------------------------------------------------------------------------------ */

/* NULL: out of memory. */
static const zkl_deadlock_wait *describe(const search *self, const zkl_wait *wait) {
    const zkl_line_entry *entry = &self->line.entries[wait->waiter];
    zkl_deadlock_wait *told = zkl_pool_take(self->pool, sizeof(*told));
    if (told != NULL) {
        *told = (zkl_deadlock_wait){
            .struct_size = sizeof(*told),
            .resource =
                zkl_pool_copy_text(self->pool, zkl_survey_name(&self->survey, entry->resource)),
            .node = entry->contender.node,
            .behind = self->line.entries[wait->earlier].contender.node,
            .session_id = entry->contender.session_id,
            .identity = entry->contender.identity,
        };
    }
    return told;
}

static bool add_circle(void *arg, const zkl_wait *const *waits, size_t length) {
    search *self = arg;
    zkl_deadlock *told = zkl_pool_take(self->pool, sizeof(*told));
    const zkl_deadlock_wait **its =
        zkl_pool_take(self->pool, (length + 1) * sizeof(zkl_deadlock_wait *));
    for (size_t i = 0; i < length && its != NULL; i++) {
        its[i] = describe(self, waits[i]);
    }
    if (zkl_pool_status(self->pool) != ZKL_OK) {
        return false;
    }
    *told = (zkl_deadlock){ sizeof(*told), length, its };
    self->found[self->result->count++] = told;
    self->result->are_more = self->result->count == ZKL_DEADLOCKS_MAX;
    return self->result->are_more == 0;
}

static int find_circles(search *self) {
    ZKL_TRY(number_owners(self));
    add_waits(self);
    self->found = zkl_pool_take(self->pool, (ZKL_DEADLOCKS_MAX + 1) * sizeof(zkl_deadlock *));
    self->result->deadlocks = self->found;
    ZKL_TRY(zkl_pool_status(self->pool));
    bool done = zkl_circles_visit(self->owner_count, self->waits, add_circle, self);
    return done ? zkl_pool_status(self->pool) : ZKL_NO_MEMORY;
}

/* ---- The second look ---------------------------------------------------------------------- */

/* Each owner's node, and that which it waits for, which may be another of the next owner's. What
 * may not be read any more counts as gone. */
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
        questions[i] = (zkl_question){ .kind = ZKL_OPERATION_EXISTS, .path = path };
    }
    ZKL_TRY(zkl_inquiry_try(inquiry, questions, count));
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

/* Names what could not be read, and takes it out of the line: nobody knows whose such a node is. */
static int skip_unreadable(search *self) {
    size_t listed = self->survey.count;
    size_t left = 0;
    const char **names =
        zkl_pool_take(self->pool, (listed + self->line.count + 1) * sizeof(const char *));
    ZKL_TRY(zkl_made(names));
    for (size_t i = 0; i < listed; i++) {
        if (self->survey.questions[i].reply.outcome == ZKL_OUTCOME_REFUSED) {
            names[self->result->skipped_count++] =
                zkl_pool_copy_text(self->pool, zkl_survey_name(&self->survey, i));
        }
    }
    for (size_t i = 0; i < self->line.count; i++) {
        const zkl_line_entry *entry = &self->line.entries[i];
        if (entry->contender.status == ZKL_OK) {
            self->line.entries[left++] = *entry;
        } else {
            names[self->result->skipped_count++] =
                zkl_pool_print(self->pool, "%s/%s", zkl_survey_name(&self->survey, entry->resource),
                               entry->contender.node);
        }
    }
    self->line.count = left;
    self->result->skipped = names;
    return zkl_pool_status(self->pool);
}

static int find(search *self, zkl_inquiry *inquiry, int *skipped) {
    zkl_survey *survey = &self->survey;
    ZKL_TRY(zkl_survey_take(survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    ZKL_TRY(zkl_line_read(&self->line, self->pool, inquiry, survey->questions, survey->count, 2));
    int listed = zkl_questions_status(survey->questions, survey->count);
    *skipped = listed != ZKL_OK ? listed : self->line.status;
    ZKL_TRY(skip_unreadable(self));
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
        ZKL_TRY(find(&self, inquiry, &report->status));
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
