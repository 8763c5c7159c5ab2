#include "mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/administration.h>

enum {
    READ_MS = 10000,
    WRITE_MS = 10000,
    WRITES = 3, /* attempts whose replies are lost */
    DATA_SIZE = MARK_TEXT_MAX + 128
};

#define DAY_MS INT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)
#define FIRST_MONDAY_MS (-3 * DAY_MS) /* 1970 began on a Thursday */

/* Returns the number of the period that a moment is in. Periods begin at midnight UTC, those of
 * whole weeks on a Monday. */
static int64_t period_of(const job *what, int64_t moment_ms) {
    int64_t length_ms = what->period_ms > 0 ? what->period_ms : DAY_MS;
    return (moment_ms - (length_ms % WEEK_MS == 0 ? FIRST_MONDAY_MS : 0)) / length_ms;
}

/* Returns what follows `name` in a line; NULL: there is no such line. */
static const char *find_line(const char *data, const char *name) {
    size_t length = strlen(name);
    while (data != NULL && strncmp(data, name, length) != 0) {
        data = strchr(data, '\n');
        data = data != NULL ? data + 1 : NULL;
    }
    return data != NULL ? data + length : NULL;
}

static int64_t number_in(const char *data, const char *name) {
    const char *value = find_line(data, name);
    return value != NULL ? strtoll(value, NULL, 10) : 0;
}

static bool is_same_text(const char *data, const char *text) {
    const char *marked = find_line(data, "text=");
    size_t length = strlen(text);
    return marked != NULL && strncmp(marked, text, length) == 0 && marked[length] == '\n';
}

/* Tells whether the job is due, by the mark of the last success. If the servers' clock was set back
 * nothing gets due by that. */
static bool is_due(const mark *self, const job *what, const char *data) {
    return what->until_changed != NULL
               ? !is_same_text(data, what->until_changed)
               : period_of(what, self->last_ms) < period_of(what, self->asked_ms);
}

/* Writes the path of a child of the job's resource, below the chroot. (The grant's path has the
 * chroot in front.) */
static void find_path(mark *self, zkl_client *client, const char *name, const char *child) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(client, &information);
    bool is_path = name[0] == '/';
    snprintf(self->path, sizeof(self->path), "%s%s%s/%s", is_path ? "" : information.lock_root,
             is_path ? "" : "/", name, child);
}

/* Reads when this run began to wait: when its node was made. Two runs that began at the same time
 * are for the same period, however long one has to wait for the other. */
static int read_asked(mark *self, zkl_client *client, const job *what, const zkl_grant *grant) {
    zkl_node *own = NULL;
    find_path(self, client, what->resources[0], strrchr(grant->node, '/') + 1);
    int status = zkl_node_read(client, self->path, READ_MS, &own);
    self->asked_ms = status == ZKL_OK ? own->made_ms : 0;
    zkl_report_free(own);
    return status == ZKL_NO_NODE ? ZKL_LOST : status;
}

int mark_look(mark *self, zkl_client *client, const job *what, const zkl_grant *grant, bool *due) {
    zkl_node *last = NULL;
    self->token = grant->token;
    int status = read_asked(self, client, what, grant);
    if (status != ZKL_OK) {
        return status;
    }
    find_path(self, client, what->resources[0], "done");
    status = zkl_node_read(client, self->path, READ_MS, &last);
    self->exists = status == ZKL_OK;
    self->last_ms = self->exists ? number_in(last->data, "asked_ms=") : 0;
    *due = !self->exists || is_due(self, what, last->data);
    zkl_report_free(last);
    return status == ZKL_NO_NODE ? ZKL_OK : status;
}

static int mark_commit(const mark *self, const job *what, zkl_lock *lock) {
    char data[DATA_SIZE];
    zkl_transaction *transaction = NULL;
    bool has_text = what->until_changed != NULL;
    int length = snprintf(data, sizeof(data), "asked_ms=%" PRId64 "\ntoken=%" PRId64 "\n%s%s%s",
                          self->asked_ms, self->token, has_text ? "text=" : "",
                          has_text ? what->until_changed : "", has_text ? "\n" : "");
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK && self->exists) {
        status = zkl_transaction_delete(transaction, self->path, ZKL_ANY_VERSION);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_create(transaction, self->path, data, (size_t)length,
                                        ZKL_CREATE_PERSISTENT);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, WRITE_MS, NULL);
    }
    zkl_transaction_free(transaction);
    return status;
}

/* Writes the mark, again if the reply was lost. Nobody else writes it while we hold the lock: a
 * mark with our token is ours. */
int mark_write(mark *self, zkl_client *client, const job *what, zkl_lock *lock) {
    int status = mark_commit(self, what, lock);
    for (int i = 1; i < WRITES && (status == ZKL_UNKNOWN || status == ZKL_OPERATION_FAILED); i++) {
        zkl_node *found = NULL;
        int read = zkl_node_read(client, self->path, READ_MS, &found);
        bool is_ours = read == ZKL_OK && number_in(found->data, "token=") == self->token;
        self->exists = read == ZKL_OK;
        zkl_report_free(found);
        if (is_ours) {
            return ZKL_OK;
        }
        status = mark_commit(self, what, lock);
    }
    return status;
}
