#include "client/credentials.h"

#include <stdio.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "session/protection.h"

/* Checks a credential, and gives it the scheme digest if it has none. No message shows a secret. */
static int complete(zkl_credential *credential, size_t index) {
    char what[64];
    if (credential->scheme == NULL) {
        credential->scheme = "digest";
    }
    snprintf(what, sizeof(what), "scheme of credential %zu", index);
    ZKL_TRY(zkl_validate_text(what, credential->scheme, ZKL_SCHEME_MAX));
    if (credential->scheme[0] == '\0') {
        return zkl_refuse(what, "", "must not be empty");
    }
    snprintf(what, sizeof(what), "secret of credential %zu", index);
    if (credential->size > 0) {
        ZKL_TRY(zkl_validate_pointer(what, credential->secret));
    }
    return credential->size <= ZKL_SECRET_MAX
               ? ZKL_OK
               : zkl_refuse(what, NULL, "%zu bytes, at most %d are allowed", credential->size,
                            ZKL_SECRET_MAX);
}

static int copy_credential(zkl_credential *copied, zkl_pool *pool, const zkl_credential *given) {
    *copied = *given;
    copied->scheme = zkl_pool_copy_text(pool, given->scheme);
    copied->secret = zkl_pool_copy(pool, given->secret, given->size);
    return zkl_pool_status(pool);
}

/* Reads the list. The structs of an earlier version are smaller, so struct_size is the distance
 * between them. */
int zkl_credentials_take(zkl_credentials *self, const zkl_credential *list, int32_t count) {
    if (self->callback != NULL && count > 0) {
        return zkl_refuse("credentials", NULL,
                          "must not be given together with a credential_callback");
    }
    ZKL_TRY(zkl_validate_range("credential_count", count, 0, ZKL_CREDENTIALS_MAX));
    if (count > 0) {
        ZKL_TRY(zkl_validate_pointer("credentials", list));
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        zkl_credential one = ZKL_CREDENTIAL_INIT;
        ZKL_TRY(zkl_struct_read("zkl_credential", (const char *)list + i * list->struct_size, &one,
                                sizeof(one)));
        ZKL_TRY(complete(&one, i));
        ZKL_TRY(copy_credential(&self->list[i], &self->pool, &one));
        self->count++;
    }
    return ZKL_OK;
}

int zkl_credentials_check_known(const zkl_credentials *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (!zkl_protection_knows(&self->list[i])) {
            char what[64];
            snprintf(what, sizeof(what), "credential %zu", i);
            return zkl_refuse(what, NULL,
                              "must be a digest in plain ASCII while nodes are protected and "
                              "node_acl or parent_acl has the scheme auth: close the client, and "
                              "open it with these credentials");
        }
    }
    return ZKL_OK;
}

/* Asks the callback. An invalid credential becomes one that the servers refuse. */
static bool ask_callback(const zkl_credentials *self, size_t index, zkl_credential *credential) {
    zkl_thread_runs_callbacks(true);
    bool given = self->callback(self->arg, index, credential) != 0;
    zkl_thread_runs_callbacks(false);
    if (given && complete(credential, index) != ZKL_OK) {
        *credential = ZKL_CREDENTIAL_WRONG;
    }
    return given;
}

bool zkl_credentials_next(const zkl_credentials *self, pthread_mutex_t *mutex, size_t index,
                          zkl_credential *credential, zkl_credential_room *room) {
    if (self->callback != NULL) {
        return ask_callback(self, index, credential);
    }
    ZKL_WITH_MUTEX(mutex);
    if (index >= self->count) {
        return false;
    }
    *credential = self->list[index];
    snprintf(room->scheme, sizeof(room->scheme), "%s", credential->scheme);
    memcpy(room->secret, credential->secret, credential->size);
    credential->scheme = room->scheme;
    credential->secret = room->secret;
    return true;
}

bool zkl_credentials_are_known(const zkl_credentials *self, pthread_mutex_t *mutex,
                               zkl_credential_room *room) {
    zkl_credential one = ZKL_CREDENTIAL_INIT;
    size_t count = 0;
    while (zkl_credentials_next(self, mutex, count, &one, room)) {
        if (count++ == ZKL_CREDENTIALS_MAX || !zkl_protection_knows(&one)) {
            return false;
        }
    }
    return true;
}

void zkl_credentials_wipe(zkl_credentials *self) {
    for (size_t i = 0; i < self->count; i++) {
        explicit_bzero((void *)self->list[i].secret, self->list[i].size);
    }
    zkl_pool_free(&self->pool);
    self->count = 0;
}
