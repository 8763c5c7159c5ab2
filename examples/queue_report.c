/*
 * Shows who holds which lock, who waits for it, and whether owners wait for each other in
 * a circle:
 *
 *     queue_report HOST:PORT[,...] [RESOURCE]
 *
 * It changes nothing. queue_operator acts on the nodes that it shows.
 *
 * Exit status: 0, 1 when the servers could not be asked, 2 when there is a deadlock.
 */
#include <inttypes.h>
#include <stdio.h>

#include <zklock/administration.h>
#include <zklock/zklock.h>

enum { TIMEOUT_MS = 10000 };

static int complain(const char *what, int status) {
    fprintf(stderr, "%s: %s. %s\n", what, zkl_strerror(status), zkl_error_message());
    return status;
}

static void print_contender(size_t place, const zkl_contender *one) {
    const zkl_identity *who = &one->identity;
    printf("  %zu %-9s %s pid %s (%s), owner %s, for %" PRId64 " s: %s%s%s\n    node %s\n", place,
           one->permits > 0 ? "permit" : zkl_lock_mode_name((int)one->mode), who->host,
           who->process_id, who->label, who->owner, one->age_ms / 1000,
           one->holds ? "holds" : "behind ", one->waits_for,
           one->revoke_requested ? ", asked to give it up" : "", one->node);
}

static int report_queue(zkl_client *client, const char *resource) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, resource, TIMEOUT_MS, &queue);
    if (status != ZKL_OK) {
        return complain(resource, status);
    }
    printf("%s: %zu %s\n", resource, queue->count, queue->count == 1 ? "contender" : "contenders");
    for (size_t i = 0; i < queue->count; i++) {
        print_contender(i, queue->contenders[i]);
    }
    zkl_report_free(queue);
    return ZKL_OK;
}

static int report_all(zkl_client *client) {
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, TIMEOUT_MS, &list);
    if (status != ZKL_OK) {
        return complain("resources", status);
    }
    size_t reported = 0;
    for (size_t i = 0; i < list->count && status == ZKL_OK; i++) {
        const zkl_resource *resource = list->resources[i];
        if (resource->contenders > 0) {
            status = report_queue(client, resource->name);
            reported++;
        }
    }
    if (reported == 0) {
        printf("nobody holds a lock or waits for one\n");
    }
    zkl_report_free(list);
    return status;
}

static int report_deadlocks(zkl_client *client, size_t *count) {
    zkl_deadlocks *deadlocks = NULL;
    int status = zkl_deadlocks_find(client, TIMEOUT_MS, &deadlocks);
    if (status != ZKL_OK) {
        return complain("deadlocks", status);
    }
    *count = deadlocks->count;
    for (size_t i = 0; i < *count; i++) {
        printf("DEADLOCK\n");
        for (size_t k = 0; k < deadlocks->deadlocks[i]->length; k++) {
            const zkl_deadlock_wait *wait = deadlocks->deadlocks[i]->waits[k];
            printf("  %s pid %s, owner %s: %s/%s waits behind %s, which is the next owner's\n",
                   wait->identity.host, wait->identity.process_id, wait->identity.owner,
                   wait->resource, wait->node, wait->behind);
        }
    }
    zkl_report_free(deadlocks);
    return ZKL_OK;
}

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    size_t deadlocks = 0;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s HOST:PORT[,...] [RESOURCE]\n", argv[0]);
        return 1;
    }
    int status = zkl_client_open(argv[1], NULL, &client);
    if (status != ZKL_OK) {
        complain(argv[1], status);
        return 1;
    }
    status = argc == 3 ? report_queue(client, argv[2]) : report_all(client);
    if (status == ZKL_OK) {
        status = report_deadlocks(client, &deadlocks);
    }
    (void)zkl_client_close(client, 0);
    if (status != ZKL_OK) {
        return 1;
    }
    return deadlocks > 0 ? 2 : 0;
}
