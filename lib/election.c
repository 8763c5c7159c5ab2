/* A candidate is a contender for the exclusive lock of the resource, and no more. */
#include "zklock/election.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "lock.h"
#include "threads.h"

struct zkl_election {
    zkl_handle open; /* first */
    zkl_lock *lock;
    zkl_elected_callback *elected;
    zkl_leadership_lost_callback *lost;
    zkl_resignation_asked_callback *resignation_asked;
    void *arg;
    int64_t told_term; /* for callbacks, of which one runs at a time */
};

/* What an asynchronous campaign owes the application; it may outlive the election. */
typedef struct campaign {
    zkl_campaign_callback *callback;
    void *arg;
} campaign;

/* ---- What becomes of its terms ------------------------------------------------------ */

/* A term that was resigned before its turn came to be told never was, for the application. */
static bool is_granted(zkl_lock *lock, int64_t term) {
    pthread_mutex_lock(&lock->client->mutex);
    bool granted = !lock->client->closed && zkl_lock_is_granted(lock) && lock->token == term;
    pthread_mutex_unlock(&lock->client->mutex);
    return granted;
}

/* The callback may close the election: it is the last to be done. */
static void on_state(void *arg, const zkl_lock_news *news) {
    zkl_election *election = arg;
    bool told = news->token == election->told_term;
    if (news->state == ZKL_STATE_HELD && !told && is_granted(election->lock, news->token)) {
        election->told_term = news->token;
        if (election->elected != NULL) {
            election->elected(election->arg, news->token);
        }
    } else if (news->state == ZKL_STATE_REVOKE_REQUESTED && told &&
               election->resignation_asked != NULL && is_granted(election->lock, news->token)) {
        election->resignation_asked(election->arg, news->token);
    } else if (news->state == ZKL_STATE_LOST && told && election->lost != NULL) {
        election->lost(election->arg, news->token, news->reason);
    }
}

/* ---- Opening and closing ------------------------------------------------------------ */

static int check_options(const zkl_election_options *options) {
    int status =
        zkl_input_check_struct_size("zkl_election_options", options->struct_size, sizeof(*options));
    if (status == ZKL_OK && options->candidate != NULL) {
        status = zkl_input_check_candidate(options->candidate);
    }
    return status;
}

static int open_lock(zkl_election *election, zkl_client *client, const char *resource,
                     const zkl_election_options *given) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = on_state;
    options.state_arg = election;
    options.resource_class = given->resource_class;
    int status = zkl_lock_open(client, resource, &options, &election->lock);
    if (status != ZKL_OK) {
        return status;
    }
    election->lock->tells_grants = true;
    election->lock->note = strdup(given->candidate != NULL ? given->candidate : "");
    return election->lock->note != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

int zkl_election_open(zkl_client *client, const char *resource, const zkl_election_options *given,
                      zkl_election **result) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    static const zkl_election_options defaults = ZKL_ELECTION_OPTIONS_INIT;
    const zkl_election_options *options = given != NULL ? given : &defaults;
    int status = zkl_input_check_pointer("election", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    status = check_options(options);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_election *election = calloc(1, sizeof(*election));
    if (election == NULL) {
        return ZKL_NO_MEMORY;
    }
    election->elected = options->elected;
    election->lost = options->lost;
    election->resignation_asked = options->resignation_asked;
    election->arg = options->arg;
    status = open_lock(election, client, resource, options);
    if (status != ZKL_OK) {
        zkl_lock_close(election->lock);
        free(election);
        return status;
    }
    zkl_handle_open(&election->open);
    *result = election;
    return ZKL_OK;
}

void zkl_election_close(zkl_election *election) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_open(election) ||
        zkl_client_check_process(election->lock->client) != ZKL_OK) {
        return;
    }
    zkl_lock_close(election->lock);
    zkl_handle_close(&election->open);
    free(election);
}

/* ---- Campaigns ---------------------------------------------------------------------- */

int zkl_election_campaign(zkl_election *election, int64_t timeout_ms, int64_t *term) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    if (term != NULL) {
        *term = 0;
    }
    int status = zkl_handle_check("election", election);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    status = zkl_lock_acquire(election->lock, ZKL_EXCLUSIVE, timeout_ms, &grant);
    if (term != NULL) {
        *term = grant.token;
    }
    return status;
}

static void on_campaign_ended(void *arg, int status, const zkl_grant *grant) {
    campaign *ended = arg;
    ended->callback(ended->arg, status, grant != NULL ? grant->token : 0);
    free(ended);
}

int zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                zkl_campaign_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_handle_check("election", election);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    campaign *begun = malloc(sizeof(*begun));
    if (begun == NULL) {
        return ZKL_NO_MEMORY;
    }
    *begun = (campaign){ callback, arg };
    status = zkl_lock_acquire_async(election->lock, ZKL_EXCLUSIVE, timeout_ms, NULL,
                                    on_campaign_ended, begun);
    if (status != ZKL_OK) {
        free(begun);
    }
    return status;
}

int zkl_election_cancel(zkl_election *election) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_handle_check("election", election);
    return status == ZKL_OK ? zkl_lock_cancel(election->lock) : status;
}

/* ---- Terms -------------------------------------------------------------------------- */

int zkl_election_check(const zkl_election *election, int64_t *term, int64_t *lease_left_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int64_t token = 0;
    int64_t left = 0;
    int status = zkl_handle_check("election", election);
    if (status == ZKL_OK) {
        status = zkl_lock_check_token(election->lock, &token, &left);
    }
    if (term != NULL) {
        *term = token;
    }
    if (lease_left_ms != NULL) {
        *lease_left_ms = left;
    }
    return status;
}

zkl_lock *zkl_election_lock(zkl_election *election) {
    return zkl_handle_is_open(election) ? election->lock : NULL;
}

int zkl_election_resign(zkl_election *election, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_handle_check("election", election);
    return status == ZKL_OK ? zkl_lock_release(election->lock, timeout_ms) : status;
}

int zkl_election_resign_async(zkl_election *election, int64_t timeout_ms,
                              zkl_status_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_handle_check("election", election);
    return status == ZKL_OK
               ? zkl_lock_release_async(election->lock, timeout_ms, NULL, callback, arg)
               : status;
}
