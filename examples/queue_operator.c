/*
 * What an operator can do about the locks of others. queue_report shows them and their nodes.
 *
 *     queue_operator HOSTS where RESOURCE NODE    its place in the queue, and what is before it
 *     queue_operator HOSTS revoke RESOURCE NODE   asks the holder to give the lock up
 *     queue_operator HOSTS break RESOURCE NODE    takes the lock from a holder that is known to be
 *                                                 gone: it does not stop a holder that is not
 *     queue_operator HOSTS remove-idle MS         removes the nodes of resources that nobody has
 *                                                 used for MS milliseconds
 *
 * Exit status: 0, or 1 when it could not be done.
 */
#include <stdlib.h>
#include <string.h>
#include <zklock/administration.h>

#include "example.h"

enum { TIMEOUT_MS = 10000, IDLE_MAX_MS = 86400000 };

static int where(zkl_client *client, const char *resource, const char *node) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, resource, TIMEOUT_MS, &queue);
    if (queue == NULL) {
        return status;
    }
    status = ZKL_NO_NODE;
    for (size_t i = 0; i < queue->count && status != ZKL_OK; i++) {
        const zkl_contender *one = queue->contenders[i];
        if (strcmp(one->node, node) == 0) {
            printf("%zu before it; %s%s\n", i, one->holds ? "it holds" : "it waits for ",
                   one->waits_for);
            status = ZKL_OK;
        }
    }
    zkl_report_free(queue);
    return status;
}

static int revoke(zkl_client *client, const char *resource, const char *node) {
    int status = zkl_node_revoke(client, resource, node, TIMEOUT_MS);
    if (status == ZKL_OK) {
        printf("%s is asked for %s\n", node, resource);
    }
    return status;
}

static int break_node(zkl_client *client, const char *resource, const char *node) {
    int status = zkl_node_break(client, resource, node, TIMEOUT_MS);
    if (status == ZKL_OK) {
        printf("%s is gone from %s\n", node, resource);
    }
    return status;
}

/* Removes idle nodes. The call looks twice, idle_ms apart, so it needs that much more time. */
static int remove_idle(zkl_client *client, const char *idle) {
    zkl_resource_list *removed = NULL;
    char *end = NULL;
    long long idle_ms = strtoll(idle, &end, 10);
    if (end == idle || *end != '\0' || idle_ms < 0 || idle_ms > IDLE_MAX_MS) {
        fprintf(stderr, "MS %s: must be from 0 to %d\n", idle, IDLE_MAX_MS);
        return ZKL_INVALID_ARGUMENT;
    }
    int status = zkl_parents_remove_idle(client, idle_ms, idle_ms + TIMEOUT_MS, 0, &removed);
    printf("%zu removed\n", removed != NULL ? removed->count : 0); /* whatever the status is */
    zkl_report_free(removed);
    return status;
}

static int operator_run(zkl_client *client, int argc, char **argv) {
    static const struct {
        const char *name;
        int (*act)(zkl_client *client, const char *resource, const char *node);
    } commands[] = { { "where", where }, { "revoke", revoke }, { "break", break_node } };
    if (argc == 4 && strcmp(argv[2], "remove-idle") == 0) {
        return remove_idle(client, argv[3]);
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && argc == 5; i++) {
        if (strcmp(argv[2], commands[i].name) == 0) {
            return commands[i].act(client, argv[3], argv[4]);
        }
    }
    fprintf(stderr, "usage: %s HOSTS where|revoke|break RESOURCE NODE, or remove-idle MS\n",
            argv[0]);
    return ZKL_INVALID_ARGUMENT;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, operator_run);
}
