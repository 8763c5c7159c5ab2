#include "mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "printable.h"

enum {
    READ_MS = 10000,
    WRITE_MS = 10000,
    WRITES = 3, /* attempts whose replies are lost */
    DATA_SIZE = MARK_TEXT_MAX + 2 * MARK_HOST_SIZE + 512
};

#define DAY_MS INT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)
#define MOMENT_MAX_MS INT64_C(253402300799999) /* the last of the year 9999 */
#define FIRST_MONDAY_MS (-3 * DAY_MS)          /* 1970 began on a Thursday */

static int64_t first_period(int64_t length_ms) {
    return length_ms % WEEK_MS == 0 ? FIRST_MONDAY_MS : 0;
}

/* Returns the number of the period that a moment is in. Periods begin at midnight UTC, those of
 * whole weeks on a Monday. */
static int64_t period_of(int64_t length_ms, int64_t moment_ms) {
    return (moment_ms - first_period(length_ms)) / length_ms;
}

static int64_t length_of_period(const job *what) {
    return what->period_ms > 0 ? what->period_ms : DAY_MS;
}

int64_t mark_due_ms(const mark_content *content) {
    int64_t length_ms = content->period_ms;
    bool is_known = content->asked_ms > 0 && !content->has_text && length_ms > 0;
    return is_known
               ? (period_of(length_ms, content->asked_ms) + 1) * length_ms + first_period(length_ms)
               : 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Returns what follows `name` in a line; NULL: there is no such line. */
static const char *find_line(const char *data, const char *name) {
    size_t length = strlen(name);
    while (data != NULL && strncmp(data, name, length) != 0) {
        data = strchr(data, '\n');
        data = data != NULL ? data + 1 : NULL;
    }
    return data != NULL ? data + length : NULL;
}

static int64_t number_in(const char *data, const char *name, int64_t otherwise) {
    const char *value = find_line(data, name);
    return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

/* Returns the time or the moment of a line. What a stranger has written may be neither: then it is
 * not known. */
static int64_t time_in(const char *data, const char *name, int64_t otherwise) {
    int64_t time_ms = number_in(data, name, otherwise);
    return time_ms >= 0 && time_ms <= MOMENT_MAX_MS ? time_ms : otherwise;
}

/* Copies a line's text, as much as there is room for. False: there is no such line. */
static bool text_in(const char *data, const char *name, char *text, size_t size) {
    const char *value = find_line(data, name);
    size_t length = value != NULL ? strcspn(value, "\n") : 0;
    length = length < size ? length : size - 1;
    memcpy(text, value != NULL ? value : "", length);
    text[length] = '\0';
    return value != NULL;
}

static void read_content(mark_content *content, const zkl_node *node) {
    const char *data = node->data;
    mark_run *success = &content->success;
    mark_run *failure = &content->failure;
    content->exists = true;
    content->asked_ms = time_in(data, "asked_ms=", 0);
    content->token = number_in(data, "token=", 0);
    content->period_ms = time_in(data, "period_ms=", 0);
    content->has_text = text_in(data, "text=", content->text, sizeof(content->text));
    if (content->asked_ms > 0) {
        success->ended_ms = time_in(data, "ended_ms=", node->made_ms);
        success->took_ms = time_in(data, "took_ms=", -1);
        (void)text_in(data, "host=", success->host, sizeof(success->host));
    }
    if (find_line(data, "failed_status=") != NULL) {
        failure->ended_ms = node->made_ms;
        failure->took_ms = time_in(data, "failed_took_ms=", -1);
        failure->status = (int)number_in(data, "failed_status=", 0);
        (void)text_in(data, "failed_host=", failure->host, sizeof(failure->host));
    }
}

/* Writes the path of a child of the job's resource, below the chroot. (The grant's path has the
 * chroot in front.) */
static void find_path(char path[ZKL_TRANSACTION_PATH_MAX + 1], zkl_client *client, const char *name,
                      const char *child) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(client, &information);
    bool is_path = name[0] == '/';
    snprintf(path, ZKL_TRANSACTION_PATH_MAX + 1, "%s%s%s/%s", is_path ? "" : information.lock_root,
             is_path ? "" : "/", name, child);
}

void mark_find_path(char path[ZKL_TRANSACTION_PATH_MAX + 1], zkl_client *client, const char *name) {
    find_path(path, client, name, "done");
}

int mark_read(mark_content *content, zkl_client *client, const char *path) {
    zkl_node *node = NULL;
    *content = (mark_content){ .exists = false };
    int status = zkl_node_read(client, path, READ_MS, &node);
    if (status == ZKL_OK) {
        read_content(content, node);
    }
    zkl_report_free(node);
    return status == ZKL_NO_NODE ? ZKL_OK : status;
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Tells whether the job is due, by the mark of the last success. If the servers' clock was set back
 * nothing gets due by that. */
static bool is_due(const mark *self, const job *what) {
    const mark_content *last = &self->last;
    int64_t length_ms = length_of_period(what);
    if (what->until_changed != NULL) {
        return !last->has_text || strcmp(last->text, what->until_changed) != 0;
    }
    return !last->exists ||
           period_of(length_ms, last->asked_ms) < period_of(length_ms, self->asked_ms);
}

/* Reads when this run began to wait: when its node was made. Two runs that began at the same time
 * are for the same period, however long one has to wait for the other. */
static int read_asked(mark *self, zkl_client *client, const job *what, const zkl_grant *grant) {
    zkl_node *own = NULL;
    find_path(self->path, client, what->resources[0], strrchr(grant->node, '/') + 1);
    int status = zkl_node_read(client, self->path, READ_MS, &own);
    self->asked_ms = status == ZKL_OK ? own->made_ms : 0;
    zkl_report_free(own);
    return status == ZKL_NO_NODE ? ZKL_LOST : status;
}

int mark_look(mark *self, zkl_client *client, const job *what, const zkl_grant *grant, bool *due) {
    self->token = grant->token;
    int status = read_asked(self, client, what, grant);
    if (status != ZKL_OK) {
        return status;
    }
    mark_find_path(self->path, client, what->resources[0]);
    status = mark_read(&self->last, client, self->path);
    *due = status == ZKL_OK && is_due(self, what);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Replaces the mark in a transaction that the servers carry out only while the lock is held.
 * Without data none takes its place. */
static int replace_at(const char *path, bool exists, zkl_lock *lock, const char *data) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK && exists) {
        status = zkl_transaction_delete(transaction, path, ZKL_ANY_VERSION);
    }
    if (status == ZKL_OK && data != NULL) {
        status =
            zkl_transaction_create(transaction, path, data, strlen(data), ZKL_CREATE_PERSISTENT);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, WRITE_MS, NULL);
    }
    zkl_transaction_free(transaction);
    return status;
}

static int mark_replace(const mark *self, bool exists, zkl_lock *lock, const char *data) {
    return replace_at(self->path, exists, lock, data);
}

int mark_delete(const char *path, zkl_lock *lock) {
    return replace_at(path, true, lock, NULL);
}

/* Writes the lines of a success. */
static size_t write_success(char data[DATA_SIZE], const mark_content *content) {
    int used = snprintf(data, DATA_SIZE, "asked_ms=%" PRId64 "\ntoken=%" PRId64 "\n",
                        content->asked_ms, content->token);
    if (content->has_text) {
        used += snprintf(data + used, DATA_SIZE - (size_t)used, "text=%s\n", content->text);
    } else {
        used += snprintf(data + used, DATA_SIZE - (size_t)used, "period_ms=%" PRId64 "\n",
                         content->period_ms);
    }
    used += snprintf(data + used, DATA_SIZE - (size_t)used, "host=%s\ntook_ms=%" PRId64 "\n",
                     content->success.host, content->success.took_ms);
    return (size_t)used;
}

static void find_host(char host[MARK_HOST_SIZE]) {
    char found[MARK_HOST_SIZE] = "";
    (void)gethostname(found, sizeof(found) - 1);
    printable_copy(host, MARK_HOST_SIZE, found);
}

/* Writes the mark, again if the reply was lost. Nobody else writes it while we hold the lock: a
 * mark with our token is ours. */
int mark_write(mark *self, zkl_client *client, const job *what, zkl_lock *lock, int64_t took_ms) {
    char data[DATA_SIZE];
    mark_content now = { .asked_ms = self->asked_ms,
                         .token = self->token,
                         .period_ms = length_of_period(what),
                         .has_text = what->until_changed != NULL,
                         .success = { .took_ms = took_ms } };
    snprintf(now.text, sizeof(now.text), "%s", now.has_text ? what->until_changed : "");
    find_host(now.success.host);
    (void)write_success(data, &now);
    bool exists = self->last.exists;
    int status = mark_replace(self, exists, lock, data);
    for (int i = 1; i < WRITES && (status == ZKL_UNKNOWN || status == ZKL_OPERATION_FAILED); i++) {
        mark_content found;
        int read = mark_read(&found, client, self->path);
        if (read == ZKL_OK && found.exists && found.token == self->token) {
            return ZKL_OK;
        }
        exists = read == ZKL_OK && found.exists;
        status = mark_replace(self, exists, lock, data);
    }
    return status;
}

void mark_write_failure(const mark *self, zkl_lock *lock, int exit_status, int64_t took_ms) {
    char data[DATA_SIZE] = "";
    char host[MARK_HOST_SIZE];
    const mark_content *last = &self->last;
    size_t used = 0;
    if (last->asked_ms > 0) {
        used = write_success(data, last);
        used += (size_t)snprintf(data + used, sizeof(data) - used, "ended_ms=%" PRId64 "\n",
                                 last->success.ended_ms);
    }
    find_host(host);
    snprintf(data + used, sizeof(data) - used,
             "failed_host=%s\nfailed_took_ms=%" PRId64 "\nfailed_status=%d\n", host, took_ms,
             exit_status);
    (void)mark_replace(self, last->exists, lock, data);
}
