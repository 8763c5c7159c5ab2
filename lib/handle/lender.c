#include "handle/lender.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "client/client.h"
#include "handle/loan.h"

static int find_or_make(zkl_client *client, const char *key, zkl_lender **result) {
    size_t size = strlen(key) + 1;
    HASH_FIND(hh, client->lenders, key, (unsigned)(size - 1), *result);
    if (*result != NULL) {
        return ZKL_OK;
    }
    zkl_lender *lender = calloc(1, sizeof(*lender) + size);
    ZKL_TRY(zkl_made(lender));
    memcpy(lender->key, key, size);
    lender->client = client;
    HASH_ADD(hh, client->lenders, key, (unsigned)(size - 1), lender);
    if (lender->hh.tbl == NULL) { /* uthash's sign of being out of memory */
        free(lender);
        return ZKL_NO_MEMORY;
    }
    *result = lender;
    return ZKL_OK;
}

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

/* Handles that differ in what their node is, or in how it is lent, share none. */
int zkl_lender_find(zkl_lock *lock) {
    const zkl_lock_options *own = lock->origin->options;
    const zkl_lending *lending = own->lending;
    zkl_borrower *borrower = lock->borrower;
    zkl_pool pool = { 0 };
    const char *key = zkl_pool_print(
        &pool, "%s\n%d\n%" PRId64 "\n%" PRId64 "\n%d\n%d\n%s\n%s", lock->members[0].path,
        lending->hand_offs, lending->hand_off_ms, lending->retain_ms, own->fail_on_session_expiry,
        own->revocable, or_empty(own->node_acl), or_empty(own->parent_acl));
    int status = key != NULL ? find_or_make(lock->client, key, &borrower->lender) : ZKL_NO_MEMORY;
    zkl_pool_free(&pool);
    if (status == ZKL_OK) {
        zkl_lender *lender = borrower->lender;
        borrower->lock = lock;
        lender->references++;
        lender->handles++;
        lender->hand_offs_max = (unsigned)lending->hand_offs;
        lender->hand_off_ms = lending->hand_off_ms;
        lender->retain_ms = lending->retain_ms;
    }
    return status;
}

void zkl_lender_drop(zkl_lender *lender) {
    if (--lender->references == 0) {
        HASH_DELETE(hh, lender->client->lenders, lender);
        free(lender);
    }
}

/* The limit of one reader would end the others' hold. */
bool zkl_lender_serves(const zkl_lock *lock) {
    return lock->borrower != NULL &&
           (lock->members[0].mode != ZKL_READ || lock->origin->options->max_hold_ms == 0);
}

/* Nobody would acquire again what is kept when the last one has gone. */
void zkl_lender_leave(const zkl_lock *lock) {
    if (lock->borrower == NULL) {
        return;
    }
    zkl_lender *lender = lock->borrower->lender;
    lender->handles--;
    for (size_t mode = 0; mode < ZKL_LENDER_MODES && lender->handles == 0; mode++) {
        if (lender->joined[mode] != NULL) {
            zkl_loan_keep_no_more(lender->joined[mode]);
        }
    }
    zkl_lender_drop(lender);
}
