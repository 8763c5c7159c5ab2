#include "holder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <zklock/striped_lock.h>

#include "ask.h"
#include "detach.h"
#include "exit_status.h"
#include "grace.h"
#include "mark.h"
#include "printable.h"
#include "say.h"
#include "wait_report.h"

enum {
    STEP_MS = 100, /* how often to look at the lock */
    RELEASE_MS = 5000,
    GROUP_GONE_MS = 5000,
    STAY_MS = 600000, /* how long to try to delete our nodes at servers that do not answer */
    CLOCKS_DIFFER_MS =
        60000, /* how much the clocks of servers that take turns as leader may differ */
    SLOT_PATH_SIZE = ZKL_NODE_PATH_SIZE
};

typedef struct holder {
    const job *job;
    const channel *link;
    zkl_client *client;
    zkl_lock *lock;
    zkl_lock *slot_lock; /* NULL: no semaphore */
    int32_t slot;
    int64_t began_ms;
    int64_t granted_ms;
    bool asked_for; /* somebody has asked for the lock, which is revocable */
    bool has_sent_asked;
    wait_report report;
    bool is_answered; /* the acquire has ended, with `status` and `grant` */
    int status;
    char why[SAY_WHY_SIZE]; /* the message of an acquire that has failed */
    zkl_grant grant;
    bool has_sent_lost;
    bool cancelled;
    bool ended;       /* the child has ended */
    int child_status; /* its exit status */
    mark mark;
    bool front_is_dead;
    int64_t answer_by_ms; /* until when to wait for answers about what was held; 0: none was asked
                             for yet */
} holder;

/* ---- News for the front ---------------------------------------------------------------------- */

static void holder_send(const holder *self, message_kind kind, int status) {
    message news = {
        .kind = kind, .status = status, .token = self->grant.token, .slot = self->slot
    };
    memcpy(news.node, self->grant.node, sizeof(news.node));
    channel_send(self->link, &news);
}

static void hear(holder *self) {
    message news;
    bool closed = false;
    while (channel_receive(self->link, &news, &closed)) {
        self->cancelled = self->cancelled || news.kind == MESSAGE_CANCEL;
        if (news.kind == MESSAGE_ENDED && !self->ended) { /* a signal may send it once more */
            self->ended = true;
            self->child_status = news.status;
        }
    }
    self->front_is_dead = self->front_is_dead || closed;
}

/* Waits for news for at most `timeout_ms`, and runs the callbacks that are due. */
static void wait_step(holder *self, int timeout_ms) {
    int descriptor = -1;
    (void)zkl_client_event_descriptor(self->client, &descriptor);
    struct pollfd files[] = { { .fd = self->link->socket, .events = POLLIN },
                              { .fd = descriptor, .events = POLLIN } };
    poll(files, 2, timeout_ms);
    (void)zkl_client_dispatch(self->client, NULL);
    hear(self);
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static int connect_client(holder *self) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    settings hurried = *self->job->settings;
    char label[ZKL_LABEL_MAX + 1];
    printable_copy(label, sizeof(label), base_name(self->job->command[0]));
    if (self->job->wait_ms > 0 && self->job->wait_ms < hurried.connect_timeout_ms) {
        hurried.connect_timeout_ms = self->job->wait_ms;
    }
    options.label = label;
    options.lease_tick_ms = (int32_t)self->job->settings->tick_time_ms;
    options.dispatch = ZKL_DISPATCH_CALLER;
    int status = settings_open_client(&hurried, &options, &self->client);
    if (status != ZKL_OK) {
        return exit_status_of(status);
    }
    holder_send(self, MESSAGE_CONNECTED, ZKL_OK);
    return grace_choose(self->job, self->link->shared, self->client);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void on_answer(void *arg, int status, const zkl_grant *grant) {
    holder *self = arg;
    self->is_answered = true;
    self->status = status;
    if (status == ZKL_OK) {
        self->grant = *grant;
    } else {
        snprintf(self->why, sizeof(self->why), "%s", zkl_error_message());
    }
}

static int64_t holder_time_left(const holder *self) {
    if (self->job->wait_ms <= 0) {
        return self->job->wait_ms;
    }
    int64_t left = self->job->wait_ms - (channel_now_ms() - self->began_ms);
    return left > 1 ? left : 1;
}

/* Returns the library's hold limit: the child gets SIGTERM when --max-hold is over, and then has
 * its grace. */
static int64_t hold_limit(const holder *self) {
    const shared *both = self->link->shared;
    int64_t max_hold_ms = self->job->max_hold_ms;
    return max_hold_ms > 0 ? max_hold_ms + both->grace_ms + both->margin_ms : 0;
}

static void holder_on_state(void *arg, const zkl_lock_event *event) {
    holder *self = arg;
    self->asked_for = self->asked_for || event->state == ZKL_STATE_REVOKE_REQUESTED;
}

static int open_lock(holder *self) {
    const job *what = self->job;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock_member members[ZKL_LOCK_MEMBERS_MAX];
    options.owner = what->owner;
    options.permits = what->permits;
    options.naming = what->naming;
    options.max_hold_ms = hold_limit(self);
    options.revocable = what->revocable ? 1 : 0;
    options.state_callback = what->revocable ? holder_on_state : NULL;
    options.state_arg = self;
    options.note = what->candidate;
    if (what->resource_count == 1) {
        return zkl_lock_open(self->client, what->resources[0], &options, &self->lock);
    }
    for (size_t i = 0; i < what->resource_count; i++) {
        members[i] =
            (zkl_lock_member){ sizeof(zkl_lock_member), what->resources[i], what->mode, 0 };
    }
    return zkl_lock_open_set(self->client, members, what->resource_count, &options, &self->lock);
}

/* Acquires the lock, and returns the status of that. */
static int acquire(holder *self) {
    zkl_mode mode = self->job->resource_count == 1 ? self->job->mode : ZKL_AS_OPENED;
    wait_report_begin(&self->report, self->job, self->client);
    int status = open_lock(self);
    if (status == ZKL_OK) {
        status =
            zkl_lock_acquire_async(self->lock, mode, holder_time_left(self), NULL, on_answer, self);
    }
    if (status != ZKL_OK) {
        snprintf(self->why, sizeof(self->why), "%s", zkl_error_message());
        return status;
    }
    while (!self->is_answered) {
        wait_step(self, STEP_MS);
        if (self->cancelled || self->front_is_dead) {
            (void)zkl_lock_cancel(self->lock);
        }
        wait_report_say(&self->report);
    }
    return self->status;
}

/* ---- Slots of a semaphore -------------------------------------------------------------------- */

/* Takes a slot: slot k is the stripe k of the resource. A holder of a permit always finds one, as
 * others take no more slots than they have permits. Two that try the same slot at once may both
 * miss it, and try again in the next round. */
static int take_slot(holder *self) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(self->client, &information);
    const char *resource = self->job->resources[0];
    for (int32_t slot = 0; !self->cancelled && !self->front_is_dead;
         slot = (slot + 1) % self->job->permits) {
        char path[SLOT_PATH_SIZE];
        snprintf(path, sizeof(path), "%s%s%s/" ZKL_STRIPE_NODE,
                 resource[0] == '/' ? "" : information.lock_root, resource[0] == '/' ? "" : "/",
                 resource, slot);
        zkl_lock *lock = NULL;
        int status = zkl_lock_open(self->client, path, NULL, &lock);
        if (status == ZKL_OK) {
            status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL);
        }
        if (status == ZKL_OK) {
            self->slot_lock = lock;
            self->slot = slot;
            return ZKL_OK;
        }
        zkl_lock_close(lock);
        if (status != ZKL_BUSY) {
            return status;
        }
        wait_step(self, slot == self->job->permits - 1 ? STEP_MS / 2 : 0);
    }
    return ZKL_CANCELLED;
}

/* ---- Holding --------------------------------------------------------------------------------- */

/* Returns until when nobody else can have the lock; 0: somebody may have it. */
static int64_t safe_until(const zkl_lock *lock) {
    int64_t now = channel_now_ms(); /* read before the look, so that the result is not too late */
    int64_t left_ms = 0;
    int status = zkl_lock_check(lock, &left_ms);
    return status == ZKL_OK || status == ZKL_SUSPECT ? now + left_ms : 0;
}

static int64_t sooner(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static int why_lost(const zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    return zkl_lock_info(lock, &information) == ZKL_OK && information.state == ZKL_STATE_LOST
               ? information.lost_reason
               : ZKL_LOST;
}

static void holder_send_lost(holder *self, const zkl_lock *lock) {
    if (!self->has_sent_lost) {
        self->has_sent_lost = true;
        holder_send(self, MESSAGE_LOST, why_lost(lock));
    }
}

static void holder_look(holder *self) {
    int64_t until = safe_until(self->lock);
    if (self->slot_lock != NULL) {
        until = sooner(until, safe_until(self->slot_lock));
    }
    if (until == 0) {
        holder_send_lost(self, self->lock);
        return;
    }
    int64_t limit = self->granted_ms + hold_limit(self);
    bool is_limited = self->job->max_hold_ms > 0 && limit <= until;
    self->link->shared->is_limited = is_limited;
    self->link->shared->safe_until_ms = is_limited ? limit : until;
    if (self->asked_for && !self->has_sent_asked) {
        self->has_sent_asked = true;
        holder_send(self, MESSAGE_ASKED_FOR, ZKL_OK);
    }
}

/* Kills the child's group at the last moment, if the front has not done so: it may be stopped. */
static void end_group_in_time(const holder *self) {
    if (self->job->on_lost != ON_LOST_IGNORE &&
        channel_now_ms() >= channel_last_kill_at(self->link)) {
        channel_signal_group(self->link, SIGKILL);
    }
}

static bool group_is_gone(const holder *self) {
    pid_t group = self->link->shared->group;
    return group == 0 || (kill(-group, 0) != 0 && errno == ESRCH);
}

/* Kills the child's group, and waits until it is gone: the front is dead, and what it has started
 * must not outlive the lock. */
static void end_group(holder *self) {
    int64_t until = channel_now_ms() + GROUP_GONE_MS;
    channel_signal_group(self->link, SIGKILL);
    while (!group_is_gone(self) && channel_now_ms() < until) {
        wait_step(self, STEP_MS / 10);
    }
}

/* Returns when the lock was granted, which the library counts from. We may have heard of it later.
 */
static int64_t moment_of_grant(const holder *self) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    int64_t now = channel_now_ms();
    int status = zkl_lock_info(self->lock, &information);
    return status == ZKL_OK && information.held_ms > 0 ? now - information.held_ms : now;
}

static void hold(holder *self) {
    self->granted_ms = moment_of_grant(self);
    holder_look(self);
    holder_send(self, MESSAGE_GRANTED, ZKL_OK);
    while (!self->ended && !self->front_is_dead) {
        wait_step(self, STEP_MS);
        holder_look(self);
        end_group_in_time(self);
    }
    if (self->front_is_dead) {
        end_group(self);
    }
}

/* Returns what is left of the one deadline for all that is asked after the child has ended; at
 * least 1. */
static int64_t time_for_answer(holder *self) {
    int64_t now = channel_now_ms();
    self->answer_by_ms = self->answer_by_ms != 0 ? self->answer_by_ms : now + RELEASE_MS;
    return self->answer_by_ms > now ? self->answer_by_ms - now : 1;
}

static void verify_lock(holder *self, zkl_lock *lock) {
    if (lock != NULL && zkl_lock_verify(lock, time_for_answer(self)) == ZKL_LOST) {
        holder_send_lost(self, lock);
    }
}

/* Asks the servers whether the lock was held to the end: the command may have ended before the news
 * came that somebody had broken its lock. If the servers do not answer, what the lease said counts.
 */
static void verify(holder *self) {
    if (self->ended && !self->front_is_dead) {
        verify_lock(self, self->lock);
        verify_lock(self, self->slot_lock);
    }
}

/* ---- Once ------------------------------------------------------------------------------------ */

/* Looks whether the job is due. Returns EXIT_DONE; or the exit status of what failed, and has said
 * so. */
static int look_at_mark(holder *self, bool *is_due) {
    int status = mark_look(&self->mark, self->client, self->job, &self->grant, is_due);
    if (status != ZKL_OK) {
        say_status(self->job->resources[0], status);
    } else if (!*is_due && self->job->until_changed == NULL &&
               self->mark.last.asked_ms - self->mark.asked_ms > CLOCKS_DIFFER_MS) {
        say("%s: not due before a time that was marked when the servers' clock was ahead; to run "
            "it anew: zklock once --reset %s",
            self->job->resources[0], self->job->resources[0]);
    } else if (!*is_due && wait_report_is_read(self->job)) {
        say("%s: done already", self->job->resources[0]);
    }
    return exit_status_of(status);
}

static int64_t held_for(const holder *self) {
    return channel_now_ms() - self->granted_ms;
}

/* Marks the success. One that could not be marked counts as a failure, as the job will be repeated.
 */
static int mark_success(holder *self) {
    int status = mark_write(&self->mark, self->client, self->job, self->lock, held_for(self));
    if (status != ZKL_OK) {
        char why[SAY_WHY_SIZE];
        say_why(why, status);
        say("%s: it has succeeded, and that could not be marked: %s", self->job->resources[0], why);
    }
    return exit_status_of(status);
}

static int hold_once(holder *self) {
    bool is_due = false;
    int status = look_at_mark(self, &is_due);
    if (status != EXIT_DONE || !is_due) {
        return status;
    }
    hold(self);
    if (self->ended && !self->front_is_dead && self->child_status == EXIT_DONE) {
        return mark_success(self); /* in a transaction that verifies the lock */
    }
    if (self->ended && !self->front_is_dead && !self->has_sent_lost && !self->cancelled) {
        mark_write_failure(&self->mark, self->lock, self->child_status, held_for(self));
    }
    verify(self);
    return EXIT_DONE;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool is_by_others(int status) {
    return status == ZKL_BUSY || status == ZKL_TIMEOUT || status == ZKL_QUEUE_FULL;
}

static int not_acquired(const holder *self, int status) {
    if (status == ZKL_CANCELLED) {
        return EXIT_NOT_ACQUIRED; /* the front knows which signal it was */
    }
    bool by_others = is_by_others(status);
    wait_report_say_failure(&self->report, by_others, status, self->why);
    return by_others ? self->job->conflict_status : exit_status_of(status);
}

/* Tells whether an acquire that failed may have failed for want of the lock root, and the servers
 * can be asked for it. */
static bool may_be_for_want_of_root(int status) {
    return !is_by_others(status) && status != ZKL_CANCELLED && status != ZKL_DISCONNECTED;
}

/* Tells of a lock root that did not exist: before the command is started, and after the acquire, so
 * that nobody waits for an answer which is known where the resource was locked before. */
static void tell_of_root(const holder *self, int status) {
    const settings *all = self->job->settings;
    if (self->job->quiet || self->job->resources[0][0] == '/') {
        return;
    }
    if (status == ZKL_OK) {
        ask_about_new_root(all, self->client, self->grant.node, channel_now_ms() - self->began_ms);
    } else if (may_be_for_want_of_root(status)) {
        ask_about_root(all, self->client);
    }
}

static int acquire_and_hold(holder *self) {
    int status = acquire(self);
    tell_of_root(self, status);
    if (status == ZKL_OK && self->job->permits > 0) {
        status = take_slot(self);
    }
    if (status != ZKL_OK) {
        return not_acquired(self, status);
    }
    if (!self->cancelled && self->job->once) {
        return hold_once(self);
    }
    if (!self->cancelled) {
        hold(self);
        verify(self);
    }
    return EXIT_DONE;
}

/* Tells whether nodes of ours are still to be deleted, also those of a cancelled wait. */
static bool has_nodes(const holder *self) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(self->client, &information);
    return information.connected && information.pending_deletions > 0;
}

/* Releases everything, the slot first: the next holder of our permit must find it free. */
static void release(holder *self) {
    if (self->slot_lock != NULL) {
        (void)zkl_lock_release(self->slot_lock, time_for_answer(self));
    }
    if (self->lock != NULL) {
        (void)zkl_lock_release(self->lock, time_for_answer(self));
    }
    while (self->client != NULL && time_for_answer(self) > 1 && has_nodes(self)) {
        wait_step(self, STEP_MS / 10);
    }
}

void holder_run(const job *what, const channel *link, pid_t front) {
    holder self = { .job = what, .link = link, .slot = -1, .grant = ZKL_GRANT_INIT };
    detach_begin(front, link->socket);
    self.began_ms = channel_now_ms();
    int status = connect_client(&self);
    if (status == EXIT_DONE) {
        status = acquire_and_hold(&self);
    }
    release(&self);
    holder_send(&self, MESSAGE_DONE, status);
    detach_complete();
    zkl_lock_close(self.slot_lock);
    zkl_lock_close(self.lock);
    (void)zkl_client_close(self.client, STAY_MS);
}
