#include "handle/lender.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "client/client.h"

static int find_or_make_lender(zkl_client *client, const char *key, zkl_lender **result) {
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

/* Finds the lender by all that its handles have in common: what their node is, and how it is
 * lent. */
int zkl_lender_find(zkl_lock *lock) {
    const zkl_lock_options *own = lock->origin->options;
    const zkl_lending *lending = own->lending;
    zkl_borrower *borrower = lock->borrower;
    zkl_pool pool = { 0 };
    const char *key = zkl_pool_print(
        &pool, "%s\n%d\n%" PRId64 "\n%" PRId64 "\n%d\n%d\n%d\n%s\n%s", lock->members[0].path,
        lending->hand_offs, lending->hand_off_ms, lending->retain_ms, own->fail_on_session_expiry,
        own->revocable, (int)own->naming, or_empty(own->node_acl), or_empty(own->parent_acl));
    int status =
        key != NULL ? find_or_make_lender(lock->client, key, &borrower->lender) : ZKL_NO_MEMORY;
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

/* Leaves out readers with a hold limit: the limit of one would end the others' hold. */
bool zkl_lender_serves(const zkl_lock *lock) {
    return lock->borrower != NULL &&
           (lock->members[0].mode != ZKL_READ || lock->origin->options->max_hold_ms == 0);
}

void zkl_lender_unlist(zkl_lender *lender, zkl_mode mode, const struct zkl_loan *loan) {
    if (lender->joined[mode] == loan) {
        lender->joined[mode] = NULL;
    }
}

/* Prefers the newest of two loans of readers: a try may have made one beside another. The older one
 * is only used up, because a handle that has held the newest must get no older one. (Of other modes
 * no two are granted at once: where another is joined, it waits.) */
struct zkl_loan *zkl_lender_join_newest(zkl_lender *lender, zkl_mode mode, struct zkl_loan *loan,
                                        int64_t czxid) {
    struct zkl_loan *other = lender->joined[mode];
    if (czxid < lender->newest) {
        zkl_lender_unlist(lender, mode, loan);
    } else if (other == NULL || mode == ZKL_READ) {
        lender->joined[mode] = loan;
    }
    lender->newest = czxid > lender->newest ? czxid : lender->newest;
    return other != loan ? other : NULL;
}
