#include "front.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "child.h"
#include "duration.h"
#include "exit_status.h"
#include "holder.h"
#include "log_sink.h"
#include "say.h"
#include "signals.h"
#include "wait_report.h"

enum {
    RESTART_MAX_MS = 30000, /* how far the pause doubles, unless the first is longer */
    CALM_MS = 60000,        /* a restart after a child that ran for longer is the first in a row */
    LOOK_MS = 1000,         /* how long to wait at most */
    CONNECT_REPORT_MS = 3000,
    GROUP_STEP_MS = 20 /* how often to look at a group whose leader has ended */
};

typedef struct front {
    const job *job;
    channel link;
    signals_found found;
    int signals; /* a signalfd */
    pid_t holder;
    bool holder_is_dead;
    bool connected;
    int stopped_by;     /* the signal that ended the wait or the command; 0: none */
    bool asked_to_stop; /* somebody else than the holder has signalled while no child ran */
    message grant;
    child child;
    bool leader_ended; /* the child has ended, but not its group, which may use its grace */
    int64_t started_ms;
    int64_t restart_at_ms; /* 0: no restart is planned */
    int64_t restart_pause_ms;
    int32_t restarts; /* in a row */
    int64_t next_report_ms;
    int64_t began_ms;
    int64_t granted_ms;
    int64_t release_at_ms; /* the command has ended, and --min-hold keeps the lock until then; 0: it
                              does not */
    bool is_lost;          /* the lock is lost, or is about to be */
    int64_t kill_at_ms;    /* 0: SIGKILL has been sent, or is not due */
    bool is_done;          /* the holder has released */
    int status;            /* the exit status */
    bool interrupted;      /* SIGINT from the terminal has ended the child */
} front;

static bool child_runs(const front *self) {
    return self->child.pid != 0;
}

static void front_send(const front *self, message_kind kind, int status) {
    message news = { .kind = kind, .status = status };
    channel_send(&self->link, &news);
}

/* ---- The child's end ------------------------------------------------------------------------- */

static void front_log(const front *self, const char *event, int status) {
    log_child(event, self->job->resources[0], self->grant.token, self->job->command[0], status);
}

static void release(front *self) {
    self->link.shared->group = 0;
    front_send(self, MESSAGE_ENDED, self->status);
}

/* Releases the lock, or keeps it for what is left of --min-hold. */
static void release_in_time(front *self) {
    int64_t until = self->granted_ms + self->job->min_hold_ms;
    bool is_early = self->job->min_hold_ms > 0 && until > channel_now_ms();
    if (is_early && !self->is_lost && self->stopped_by == 0 && !self->holder_is_dead) {
        self->link.shared->group = 0;
        self->release_at_ms = until;
    } else {
        release(self);
    }
}

/* Tells whether the child that has just ended is to be started again, and counts that. */
static bool is_to_restart(front *self, int status) {
    bool was_calm = channel_now_ms() - self->started_ms >= CALM_MS;
    self->restarts = was_calm ? 1 : self->restarts + 1;
    bool is_allowed = self->job->restart_limit == 0 || self->restarts <= self->job->restart_limit;
    return self->job->restart && is_allowed && status != EXIT_DONE && !self->is_lost &&
           self->stopped_by == 0 && !self->holder_is_dead;
}

static void plan_restart(front *self) {
    int64_t first_ms = self->job->restart_pause_ms;
    int64_t most_ms = first_ms > RESTART_MAX_MS ? first_ms : RESTART_MAX_MS;
    int64_t doubled_ms = self->restart_pause_ms * 2;
    char pause[DURATION_TEXT_SIZE];
    self->restart_pause_ms = self->restarts == 1    ? first_ms
                             : doubled_ms < most_ms ? doubled_ms
                                                    : most_ms;
    self->restart_at_ms = channel_now_ms() + self->restart_pause_ms;
    duration_write(pause, self->restart_pause_ms);
    say("%s ended with %d: it is started again in %s, under the same lock", self->job->command[0],
        self->status, pause);
}

static void on_group_end(front *self) {
    if (self->is_lost && self->job->on_lost != ON_LOST_IGNORE) {
        channel_signal_group(&self->link, SIGKILL); /* what the child has left behind */
    }
    self->child.pid = 0;
    self->leader_ended = false;
    self->kill_at_ms = 0;
    if (is_to_restart(self, self->status)) {
        channel_signal_group(&self->link,
                             SIGKILL); /* no part of the old child may run beside the new one */
        self->link.shared->group = 0;
        plan_restart(self);
        return;
    }
    if (self->is_lost) {
        self->status = EXIT_LOCK_LOST;
    }
    release_in_time(self);
}

static bool group_lives(const front *self) {
    return kill(-self->child.pid, 0) == 0;
}

/* Notes that the terminal has stopped the child: with Ctrl-C, which does not reach us, with Ctrl-\,
 * or as it was hung up. So it is not started again, nor the lock kept for longer. */
static void note_terminal_signal(front *self) {
    const int numbers[] = { SIGINT, SIGQUIT, SIGHUP };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (self->child.terminal >= 0 && self->status == EXIT_BY_SIGNAL + numbers[i]) {
            self->stopped_by = numbers[i];
        }
    }
}

/* Notes that the child has ended. Its group may still use its grace: a shell dies of SIGTERM at
 * once, while what it runs ends in good order. */
static void on_child_end(front *self, int wait_status) {
    child_take_terminal(&self->child);
    self->status = child_exit_status(wait_status);
    front_log(self, "child_ended", self->status);
    self->leader_ended = self->kill_at_ms != 0 && group_lives(self);
    self->interrupted =
        self->child.terminal >= 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT;
    note_terminal_signal(self);
    if (!self->leader_ended) {
        on_group_end(self);
    }
}

/* ---- Loss ------------------------------------------------------------------------------------ */

/* Ends the child: it gets SIGTERM, or what --on-lost says, and its grace. SIGKILL comes before
 * anybody else can be granted the lock, as long as that is in our hands. */
static void end_child(front *self, const char *why) {
    int64_t now = channel_now_ms();
    self->is_lost = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that we are told when the rest of the group ends */
    if (self->job->on_lost == ON_LOST_IGNORE) {
        say("%s: %s; the command goes on without it", self->job->resources[0], why);
        return;
    }
    say("%s: %s", self->job->resources[0], why);
    self->kill_at_ms = channel_kill_at(&self->link, now);
    if (self->job->on_lost == ON_LOST_KILL || self->kill_at_ms < now) {
        self->kill_at_ms = now;
    } else if (self->job->on_lost == ON_LOST_COMMAND) {
        child_run_on_lost_command(&self->child, self->job, &self->found);
    } else {
        channel_signal_group(&self->link, SIGTERM);
        channel_signal_group(&self->link, SIGCONT); /* a stopped process would not hear of it */
    }
}

/* Reacts to the loss of the lock. It says so even if the command has ended already, which may have
 * run without its lock. */
static void lose(front *self, const char *why) {
    if (self->is_lost) {
        return;
    }
    if (child_runs(self)) {
        end_child(self, why);
        return;
    }
    say("%s: %s", self->job->resources[0], why);
    self->is_lost = true;
    self->status = EXIT_LOCK_LOST;
    if (self->restart_at_ms != 0 || self->release_at_ms != 0) {
        self->restart_at_ms = 0;
        self->release_at_ms = 0;
        release(self);
    }
}

/* Tells whether something runs, or will run again. */
static bool needs_lock(const front *self) {
    return child_runs(self) || self->restart_at_ms != 0;
}

/* Returns when the child must get SIGTERM at the latest, if the lease is not extended. */
static int64_t end_due_at(const front *self) {
    const shared *both = self->link.shared;
    return both->safe_until_ms - both->margin_ms - both->grace_ms;
}

/* ---- Times ----------------------------------------------------------------------------------- */

static void start_child(front *self) {
    self->restart_at_ms = 0;
    self->started_ms = channel_now_ms();
    if (channel_now_ms() >= end_due_at(self)) {
        say("%s: the lock is about to end: nothing was started", self->job->resources[0]);
        self->is_lost = true;
        self->status = EXIT_LOCK_LOST;
        release(self);
    } else if (!child_start(&self->child, self->job, &self->grant, &self->link, &self->found)) {
        say("%s: no process: %s", self->job->command[0], strerror(errno));
        self->status = EXIT_CANNOT_EXECUTE;
        release(self);
    } else {
        front_log(self, "child_started", -1);
    }
}

static void report_connecting(front *self, int64_t now) {
    char age[DURATION_TEXT_SIZE];
    if (self->connected || !wait_report_is_read(self->job) || now < self->next_report_ms) {
        return;
    }
    duration_write(age, now - self->began_ms);
    say("not connected to %s for %s", self->job->settings->values[SETTING_HOSTS], age);
    self->next_report_ms = now + CONNECT_REPORT_MS;
}

static void look_at_lease(front *self, int64_t now) {
    if (child_runs(self) && now >= end_due_at(self)) {
        lose(self, self->link.shared->is_limited ? "the time of --max-hold is over"
                   : self->holder_is_dead
                       ? "the process that keeps the session is dead, and the lock is about to end"
                       : "the lock is about to end: no answer from the servers");
    }
}

static void do_what_is_due(front *self) {
    int64_t now = channel_now_ms();
    report_connecting(self, now);
    if (self->restart_at_ms != 0 && now >= self->restart_at_ms) {
        start_child(self);
    }
    if (self->release_at_ms != 0 && now >= self->release_at_ms) {
        self->release_at_ms = 0;
        release(self);
    }
    look_at_lease(self, now);
    if (self->kill_at_ms != 0 && now >= self->kill_at_ms) {
        self->kill_at_ms = 0;
        channel_signal_group(&self->link, SIGKILL);
    }
    if (self->leader_ended && (self->kill_at_ms == 0 || !group_lives(self))) {
        on_group_end(self);
    }
}

static int time_to_wait(const front *self) {
    int64_t now = channel_now_ms();
    int64_t until = now + (self->leader_ended ? GROUP_STEP_MS : LOOK_MS);
    const int64_t times[] = { self->restart_at_ms, self->release_at_ms, self->kill_at_ms,
                              child_runs(self) && !self->is_lost ? end_due_at(self) : 0 };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (times[i] != 0 && times[i] < until) {
            until = times[i];
        }
    }
    return until > now ? (int)(until - now) : 0;
}

/* ---- The holder ------------------------------------------------------------------------------ */

static void on_holder_death(front *self) {
    if (self->holder_is_dead || self->is_done) {
        return;
    }
    self->holder_is_dead = true;
    if (needs_lock(self) || self->release_at_ms != 0) {
        lose(self, "the process that keeps the session is dead");
    }
    self->is_done = !child_runs(self);
    bool is_unmarked = self->job->once && self->grant.token != 0;
    if (self->is_done && self->status == EXIT_DONE && (self->stopped_by == 0 || is_unmarked)) {
        say("the process that keeps the session is dead");
        self->status = EXIT_INTERNAL;
    }
}

static void on_message(front *self, const message *news) {
    char why[256];
    switch (news->kind) {
    case MESSAGE_CONNECTED:
        self->connected = true;
        break;
    case MESSAGE_GRANTED:
        self->grant = *news;
        self->granted_ms = channel_now_ms();
        if (self->stopped_by != 0) {
            self->status = EXIT_BY_SIGNAL + self->stopped_by;
            release(self);
        } else if (self->is_lost) {
            release(self);
        } else {
            start_child(self);
        }
        break;
    case MESSAGE_LOST:
        snprintf(why, sizeof(why), "the lock is lost: %s", zkl_strerror(news->status));
        lose(self, why);
        break;
    case MESSAGE_ASKED_FOR:
        if (needs_lock(self)) {
            lose(self, "somebody has asked for the lock, and it is given up");
        } else if (self->release_at_ms != 0) {
            self->release_at_ms = 0;
            release(self);
        }
        break;
    default:
        self->is_done = true;
        self->status = self->status != EXIT_DONE ? self->status : news->status;
        break;
    }
}

static void hear(front *self) {
    message news;
    bool closed = false;
    while (!self->is_done && channel_receive(&self->link, &news, &closed)) {
        on_message(self, &news);
    }
    if (closed) {
        on_holder_death(self);
    }
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void go_on(front *self) {
    child_find_terminal(&self->child); /* we may be in the foreground now, or in the background */
    if (child_runs(self)) {
        child_give_terminal(&self->child);
        channel_signal_group(&self->link, SIGCONT);
    }
}

static void on_child_change(front *self) {
    int wait_status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &wait_status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == self->holder && !WIFSTOPPED(wait_status)) {
            hear(self); /* its last messages */
            on_holder_death(self);
        } else if (child_runs(self) && pid == self->child.pid) {
            if (!WIFSTOPPED(wait_status)) {
                hear(self); /* the holder may have ended the child while we were stopped */
                look_at_lease(self, channel_now_ms());
                on_child_end(self, wait_status);
            } else if (!self->is_lost) {
                child_stop_with(&self->child);
            }
        }
    }
}

/* Leaves the queue, as no child runs yet, or any more. A signal to all of our processes reaches us
 * twice, because the holder passes its own on: so only a second signal that is not from the holder
 * means haste. */
static void stop_waiting(front *self, int number, bool by_holder) {
    if (!self->connected || (self->asked_to_stop && !by_holder)) {
        kill(self->holder,
             SIGKILL); /* the holder has nothing yet, or the user does not want to wait */
    }
    self->asked_to_stop = self->asked_to_stop || !by_holder;
    self->stopped_by = number;
    self->restart_at_ms = 0;
    self->release_at_ms = 0;
    front_send(self, MESSAGE_CANCEL, EXIT_DONE);
    front_send(self, MESSAGE_ENDED, EXIT_BY_SIGNAL + number);
}

static void pass_on(front *self, int number, bool ends) {
    self->stopped_by = ends ? number : self->stopped_by;
    channel_signal_group(&self->link, number);
    if (ends) {
        channel_signal_group(&self->link, SIGCONT); /* a stopped process would not hear of it */
    }
}

static void on_signal(front *self, int number, bool by_holder) {
    bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (number == SIGCHLD) {
        on_child_change(self);
        return;
    }
    if (number == SIGCONT) {
        go_on(self);
        return;
    }
    hear(self); /* it may be connected, or granted, by now */
    if (child_runs(self)) {
        if (!by_holder || self->stopped_by == 0) {
            pass_on(self, number, ends);
        }
    } else if (ends) {
        stop_waiting(self, number, by_holder);
    } else if (number == SIGTSTP) {
        raise(SIGSTOP);
    }
}

static void read_signals(front *self) {
    struct signalfd_siginfo news;
    while (read(self->signals, &news, sizeof(news)) == (ssize_t)sizeof(news)) {
        on_signal(self, (int)news.ssi_signo, (pid_t)news.ssi_pid == self->holder);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool start_holder(front *self) {
    channel other;
    pid_t own = getpid();
    self->signals = signals_take(&self->found);
    if (self->signals < 0 || !channel_open(&self->link, &other)) {
        return false;
    }
    self->holder = fork();
    if (self->holder == 0) {
        close(self->link.socket);
        close(self->signals);
        holder_run(self->job, &other, own);
        _exit(EXIT_DONE);
    }
    close(other.socket);
    return self->holder > 0;
}

int front_run(const job *what) {
    front self = { .job = what, .began_ms = channel_now_ms() };
    self.next_report_ms = self.began_ms + CONNECT_REPORT_MS;
    child_find_terminal(&self.child);
    if (!start_holder(&self)) {
        say("no process: %s", strerror(errno));
        return EXIT_INTERNAL;
    }
    while (!self.is_done) {
        struct pollfd files[] = { { .fd = self.link.socket, .events = POLLIN },
                                  { .fd = self.signals, .events = POLLIN } };
        if (self.holder_is_dead) {
            files[0].fd = -1;
        }
        poll(files, 2, time_to_wait(&self));
        read_signals(&self);
        if (!self.holder_is_dead) {
            hear(&self);
        }
        do_what_is_due(&self);
        self.is_done = self.is_done || (self.holder_is_dead && !child_runs(&self));
    }
    if (self.interrupted && self.status == EXIT_BY_SIGNAL + SIGINT) {
        signals_end_as_interrupted();
    }
    return self.stopped_by != 0 && self.grant.token == 0 ? EXIT_BY_SIGNAL + self.stopped_by
                                                         : self.status;
}
