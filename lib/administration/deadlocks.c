#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "administration/circles.h"
#include "administration/queue_snapshot.h"
#include "administration/resource_survey.h"
#include "base/error_message.h"
#include "base/validation.h"

typedef struct search {
    zkl_deadlocks *result;
    zkl_pool *pool;             /* the memory that the result points to */
    const zkl_deadlock **found; /* the array that `result->deadlocks` points to */
    zkl_survey survey;
    zkl_queue_snapshot snapshot;
    size_t owner_count;
    zkl_snapshot_entry **owners; /* one entry of each owner, by the owner's number, which is in the
                                    order of compare_owners */
    zkl_wait *waits;
} search;

/* ---- Owners --------------------------------------------------------------------------- */

static bool is_of_many_sessions(const zkl_contender *one) {
    return strncmp(one->identity.owner, ZKL_OWNER_SHARED, strlen(ZKL_OWNER_SHARED)) == 0;
}

/* Puts owners that several sessions share before all others. */
static int compare_owners(const void *one, const void *other) {
    const zkl_contender *first = &(*(zkl_snapshot_entry *const *)one)->contender;
    const zkl_contender *second = &(*(zkl_snapshot_entry *const *)other)->contender;
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
    size_t count = self->snapshot.count;
    zkl_snapshot_entry **entries = zkl_pool_take(self->pool, count * sizeof(zkl_snapshot_entry *));
    self->owners = zkl_pool_take(self->pool, count * sizeof(zkl_snapshot_entry *));
    ZKL_TRY(zkl_pool_status(self->pool));
    for (size_t i = 0; i < count; i++) {
        entries[i] = &self->snapshot.entries[i];
    }
    qsort(entries, count, sizeof(zkl_snapshot_entry *), compare_owners);
    for (size_t i = 0; i < count; i++) {
        bool is_another = i == 0 || compare_owners(&entries[i - 1], &entries[i]) != 0;
        self->owner_count += is_another ? 1 : 0;
        entries[i]->owner = self->owner_count - 1;
        self->owners[entries[i]->owner] = entries[i];
    }
    return ZKL_OK;
}

/* Finds an entry of the owner with this name, which sessions share; NULL: it has no node, so nobody
 * waits for it. */
static const zkl_snapshot_entry *find_shared_owner(const search *self, const char *name) {
    zkl_snapshot_entry wanted = { .contender.identity.owner = name };
    zkl_snapshot_entry *key = &wanted;
    zkl_snapshot_entry **found = bsearch(&key, self->owners, self->owner_count,
                                         sizeof(zkl_snapshot_entry *), compare_owners);
    return found != NULL ? *found : NULL;
}

/* ---- Who waits for whom ------------------------------------------------------------------- */

static bool is_reader(const zkl_snapshot_entry *entry) {
    return entry->member.name.kind == ZKL_NODE_READ;
}

/* Tells whether it waits for each of those in its way. A waiter for one of several permits
 * continues as soon as any of their holders has gone, and so waits for none of them in particular.
 */
static bool waits_for_each(const zkl_snapshot_entry *entry) {
    return zkl_contenders_room(entry->member.name.permits) == 1;
}

/* Tells whether it may hold while others before it do. */
static bool is_shared(const zkl_snapshot_entry *entry) {
    return is_reader(entry) || !waits_for_each(entry);
}

static void add_wait_of(search *self, size_t owner, const zkl_snapshot_entry *own,
                        const zkl_snapshot_entry *earlier) {
    zkl_wait *wait = zkl_pool_take(self->pool, sizeof(*wait));
    if (wait != NULL) {
        *wait = (zkl_wait){ .from = owner,
                            .to = earlier->owner,
                            .waiter = (size_t)(own - self->snapshot.entries),
                            .earlier = (size_t)(earlier - self->snapshot.entries) };
        LL_PREPEND(self->waits, wait);
    }
}

/* Adds a wait of an entry's owner, and of each job that the owner is a part of: the job may hold
 * what others wait for. Its other parts go on. */
static void add_wait(search *self, const zkl_snapshot_entry *own,
                     const zkl_snapshot_entry *earlier) {
    const char *name = own->contender.identity.owner;
    add_wait_of(self, own->owner, own, earlier);
    const char *slash = is_of_many_sessions(&own->contender) ? strchr(name, '/') : NULL;
    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *whole = zkl_pool_print(self->pool, "%.*s", (int)(slash - name), name);
        const zkl_snapshot_entry *job = whole != NULL ? find_shared_owner(self, whole) : NULL;
        if (job != NULL) {
            add_wait_of(self, job->owner, own, earlier);
        }
    }
}

/* Adds the direct waits of an entry, from which all others follow. The nearest request in its way
 * itself waits for all that is before it, unless it is a reader or one of several permits: then
 * those next to it are in the way too, and so is what they wait for. What all of these wait for
 * need not be added. What one of them does not wait for must be (for example a writer that has been
 * downgraded to that reader). */
static void add_waits_of(search *self, const zkl_snapshot_entry *own) {
    const zkl_snapshot_entry *shared = NULL;
    const zkl_snapshot_entry *earlier = zkl_queue_snapshot_find_nearest(&self->snapshot, own, own);
    while (earlier != NULL && is_shared(earlier)) {
        add_wait(self, own, earlier);
        shared = earlier;
        earlier = zkl_queue_snapshot_find_nearest(&self->snapshot, own, earlier);
    }
    bool follows = earlier != NULL && shared != NULL && is_reader(shared) &&
                   zkl_neighbour_blocks(earlier->member, shared->member);
    if (earlier != NULL && !follows) {
        add_wait(self, own, earlier);
    }
}

static void add_waits(search *self) {
    for (size_t i = 0; i < self->snapshot.count; i++) {
        if (waits_for_each(&self->snapshot.entries[i])) {
            add_waits_of(self, &self->snapshot.entries[i]);
        }
    }
}

/* ---- Circles ------------------------------------------------------------------------------ */

/* Describes a wait for the application. NULL: out of memory. */
static const zkl_deadlock_wait *deadlocks_describe(const search *self, const zkl_wait *wait) {
    const zkl_snapshot_entry *entry = &self->snapshot.entries[wait->waiter];
    zkl_deadlock_wait *described = zkl_pool_take(self->pool, sizeof(*described));
    if (described != NULL) {
        *described = (zkl_deadlock_wait){
            .struct_size = sizeof(*described),
            .resource =
                zkl_pool_copy_text(self->pool, zkl_survey_name(&self->survey, entry->resource)),
            .node = entry->contender.node,
            .behind = self->snapshot.entries[wait->earlier].contender.node,
            .session_id = entry->contender.session_id,
            .identity = entry->contender.identity,
        };
    }
    return described;
}

static bool add_circle(void *arg, const zkl_wait *const *waits, size_t length) {
    search *self = arg;
    zkl_deadlock *deadlock = zkl_pool_take(self->pool, sizeof(*deadlock));
    const zkl_deadlock_wait **its =
        zkl_pool_take(self->pool, (length + 1) * sizeof(zkl_deadlock_wait *));
    for (size_t i = 0; i < length && its != NULL; i++) {
        its[i] = deadlocks_describe(self, waits[i]);
    }
    if (zkl_pool_status(self->pool) != ZKL_OK) {
        return false;
    }
    *deadlock = (zkl_deadlock){ sizeof(*deadlock), length, its };
    self->found[self->result->count++] = deadlock;
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

/* Looks whether all nodes of a deadlock still exist: each owner's waiting node, and the node that
 * it waits for, which may be another one of the next owner. A node that we may not read any more
 * counts as gone. */
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

/* Names what could not be read, and takes such nodes out of the snapshot: nobody knows whose they
 * are. */
static int skip_unreadable(search *self) {
    size_t listed = self->survey.count;
    size_t left = 0;
    const char **names =
        zkl_pool_take(self->pool, (listed + self->snapshot.count + 1) * sizeof(const char *));
    ZKL_TRY(zkl_made(names));
    for (size_t i = 0; i < listed; i++) {
        if (self->survey.questions[i].reply.outcome == ZKL_OUTCOME_REFUSED) {
            names[self->result->skipped_count++] =
                zkl_pool_copy_text(self->pool, zkl_survey_name(&self->survey, i));
        }
    }
    for (size_t i = 0; i < self->snapshot.count; i++) {
        const zkl_snapshot_entry *entry = &self->snapshot.entries[i];
        if (entry->contender.status == ZKL_OK) {
            self->snapshot.entries[left++] = *entry;
        } else {
            names[self->result->skipped_count++] =
                zkl_pool_print(self->pool, "%s/%s", zkl_survey_name(&self->survey, entry->resource),
                               entry->contender.node);
        }
    }
    self->snapshot.count = left;
    self->result->skipped = names;
    return zkl_pool_status(self->pool);
}

static int deadlocks_find(search *self, zkl_inquiry *inquiry, int *skipped) {
    zkl_survey *survey = &self->survey;
    ZKL_TRY(zkl_survey_take(survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    ZKL_TRY(zkl_queue_snapshot_read(&self->snapshot, self->pool, inquiry, survey->questions,
                                    survey->count, 2));
    int listed = zkl_questions_status(survey->questions, survey->count);
    *skipped = listed != ZKL_OK ? listed : self->snapshot.status;
    ZKL_TRY(skip_unreadable(self));
    ZKL_TRY(find_circles(self));
    return look_again(self, inquiry);
}

/* Looks twice in one session. A new session may be connected to a server that is behind: what it
 * shows may be older than the first look, and prove nothing. */
static int find_in_one_session(zkl_report *report, zkl_inquiry *inquiry, const void *none) {
    (void)none;
    uint64_t session = 0;
    do {
        session = zkl_inquiry_session(inquiry);
        search self = { .result = &report->deadlocks, .pool = &report->pool };
        report->deadlocks = (zkl_deadlocks){ .count = 0 };
        ZKL_TRY(deadlocks_find(&self, inquiry, &report->status));
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
