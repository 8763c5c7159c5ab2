/* Writes that go through together with a check of the lock, or not at all. */
#include "support/contender_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int plan(struct contender *self, const char *path, const char *value) {
    zkl_transaction_free(self->plan);
    int status = zkl_transaction_begin(self->lock, &self->plan);
    return status != ZKL_OK
               ? status
               : zkl_transaction_set(self->plan, path, value, strlen(value), ZKL_ANY_VERSION);
}

bool contender_obey_about_writes(const char *command, struct contender *self) {
    char path[128];
    char value[64];
    int64_t timeout_ms;
    if (sscanf(command, "plan %127s %63s", path, value) == 2) {
        printf("%d\n", plan(self, path, value));
    } else if (sscanf(command, "commit %" SCNd64, &timeout_ms) == 1) {
        printf("%d\n", zkl_transaction_commit(self->plan, timeout_ms, NULL));
    } else if (sscanf(command, "verify %" SCNd64, &timeout_ms) == 1) {
        printf("%d\n", zkl_lock_verify(self->lock, timeout_ms));
    } else {
        return false;
    }
    return true;
}

void contender_end_writes(struct contender *self) {
    zkl_transaction_free(self->plan);
}
