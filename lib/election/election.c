/* A candidate is nothing but a contender for the resource's exclusive lock. */
#include "zklock/election.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/threads.h"
#include "base/validation.h"

struct zkl_election {
    zkl_handle open; /* first */
    zkl_lock *lock;
    zkl_election_options options; /* its texts are not valid once it is open */
    int64_t announced_term;       /* the last term that `elected` was called for. Only the
                                     callbacks use it, of which one runs at a time */
};

/* What an asynchronous campaign owes the application; it may outlive the election. */
typedef struct campaign {
    zkl_campaign_callback *callback;
    void *arg;
} campaign;

/* ---- What becomes of its terms ------------------------------------------------------ */

/* Tells whether the term is still granted. One that was resigned before it could be announced is
 * never announced. */
static bool is_granted(const zkl_lock *lock, int64_t term) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    return zkl_lock_info(lock, &now) == ZKL_OK && now.token == term;
}

/* Calls the application back. The callback may close the election, so nothing may follow it. */
static void election_on_state(void *arg, const zkl_lock_event *event) {
    zkl_election *election = arg;
    const zkl_election_options *options = &election->options;
    bool announced = event->token == election->announced_term;
    if (event->state == ZKL_STATE_HELD && !announced && is_granted(election->lock, event->token)) {
        election->announced_term = event->token;
        if (options->elected != NULL) {
            options->elected(options->arg, event->token);
        }
    } else if (event->state == ZKL_STATE_REVOKE_REQUESTED && announced &&
               options->resignation_asked != NULL && is_granted(election->lock, event->token)) {
        options->resignation_asked(options->arg, event->token);
    } else if (event->state == ZKL_STATE_LOST && announced && options->lost != NULL) {
        options->lost(options->arg, event->token, event->reason);
    }
}

/* ---- Opening and closing ------------------------------------------------------------ */

static int open_lock(zkl_election *election, zkl_client *client, const char *resource) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = election_on_state;
    options.state_arg = election;
    options.resource_class = election->options.resource_class;
    options.note = election->options.candidate;
    options.node_acl = election->options.node_acl;
    options.parent_acl = election->options.parent_acl;
    options.naming = election->options.naming;
    options.tell_granted = 1;
    options.revocable = election->options.resignation_asked != NULL;
    return zkl_lock_open(client, resource, &options, &election->lock);
}

int zkl_election_open(zkl_client *client, const char *resource, const zkl_election_options *given,
                      zkl_election **result) {
    ZKL_BEGIN_CALL;
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    ZKL_TRY(zkl_validate_pointer("election", result));
    *result = NULL;
    ZKL_TRY(zkl_struct_read("zkl_election_options", given, &options, sizeof(options)));
    ZKL_TRY(zkl_validate_text("candidate", options.candidate, ZKL_NOTE_MAX));
    ZKL_TRY(zkl_validate_range("reserved", options.reserved, 0, 0));
    zkl_election *election = calloc(1, sizeof(*election));
    ZKL_TRY(zkl_made(election));
    election->options = options;
    int status = open_lock(election, client, resource);
    if (status != ZKL_OK) {
        free(election);
        return status;
    }
    zkl_handle_open("election", &election->open);
    *result = election;
    return ZKL_OK;
}

void zkl_election_close(zkl_election *election) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours("election", election)) {
        return;
    }
    zkl_lock_close(election->lock);
    zkl_handle_close(&election->open);
    free(election);
}

zkl_lock *zkl_election_lock(const zkl_election *election) {
    return zkl_handle_is_open("election", election) ? election->lock : NULL;
}

/* ---- Campaigns ---------------------------------------------------------------------- */

int zkl_election_campaign(zkl_election *election, int64_t timeout_ms, int64_t *term) {
    ZKL_BEGIN_CALL;
    int64_t unasked = 0;
    term = term != NULL ? term : &unasked;
    *term = 0;
    ZKL_TRY(zkl_handle_check("election", election));
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(election->lock, ZKL_EXCLUSIVE, timeout_ms, &grant);
    *term = grant.token;
    return status;
}

static void on_campaign_ended(void *arg, int status, const zkl_grant *grant) {
    campaign *ended = arg;
    ended->callback(ended->arg, status, grant != NULL ? grant->token : 0);
    free(ended);
}

int zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                zkl_campaign_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("election", election));
    ZKL_TRY(zkl_validate_pointer("callback", (const void *)(uintptr_t)callback));
    campaign *begun = malloc(sizeof(*begun));
    ZKL_TRY(zkl_made(begun));
    *begun = (campaign){ callback, arg };
    int status = zkl_lock_acquire_async(election->lock, ZKL_EXCLUSIVE, timeout_ms, NULL,
                                        on_campaign_ended, begun);
    if (status != ZKL_OK) {
        free(begun);
    }
    return status;
}

/* ---- Resignations ------------------------------------------------------------------- */

int zkl_election_resign(zkl_election *election, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("election", election));
    return zkl_lock_release(election->lock, timeout_ms);
}

int zkl_election_resign_async(zkl_election *election, int64_t timeout_ms,
                              zkl_status_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("election", election));
    return zkl_lock_release_async(election->lock, timeout_ms, NULL, callback, arg);
}
