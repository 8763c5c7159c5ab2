#include "page.h"

#include <stdlib.h>

/* The text may grow until the next call: a number gets another digit, a class its first request. */
enum { SPARE_BYTES = 8192 };

char *metrics_page(zkl_client *client, int *status) {
    char *page = NULL;
    size_t size = 0;
    size_t length = 0;
    while ((*status = zkl_client_metrics(client, page, size, &length)) == ZKL_BUFFER_TOO_SMALL) {
        size = length + SPARE_BYTES;
        free(page);
        page = malloc(size);
        if (page == NULL) {
            *status = ZKL_NO_MEMORY;
            return NULL;
        }
    }
    if (*status != ZKL_OK) {
        free(page);
        return NULL;
    }
    return page;
}
