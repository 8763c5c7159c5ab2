#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "telemetry/record_file.h"

/* The mutex is held for the copy only, so that no thread waits for the disk, nor for pages of
 * memory, which are touched before. */
static char *copy_record(zkl_client *client, size_t *length) {
    size_t size = zkl_recorder_size_max(client->recorder);
    char *copy = malloc(size);
    if (copy == NULL) {
        return NULL;
    }
    memset(copy, '\n', size); /* not 0: that could become a calloc, which touches nothing */
    zkl_record_pieces pieces;
    *length = 0;
    pthread_mutex_lock(&client->mutex);
    zkl_recorder_take_pieces(client->recorder, &pieces);
    for (size_t i = 0; i < ZKL_RECORD_PIECES; i++) {
        memcpy(copy + *length, pieces.list[i].bytes, pieces.list[i].length);
        *length += pieces.list[i].length;
    }
    pthread_mutex_unlock(&client->mutex);
    return copy;
}

static int check(const zkl_client *client, const char *path) {
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_pointer("path", path));
    ZKL_TRY(zkl_validate_file_name("path", path));
    return client->recorder != NULL
               ? ZKL_OK
               : zkl_refuse("client", NULL, "keeps no record: its recorded_events is 0");
}

int zkl_client_write_record(zkl_client *client, const char *path) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check(client, path));
    size_t length = 0;
    char *record = copy_record(client, &length);
    ZKL_TRY(zkl_made(record));
    bool written = zkl_record_file_write(path, record, length);
    int why = errno;
    free(record);
    if (!written) {
        zkl_error_note("path", path, "%s", strerror(why));
        return ZKL_SYSTEM;
    }
    return ZKL_OK;
}
