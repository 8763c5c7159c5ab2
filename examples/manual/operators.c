/* What an operator's program does with queues and nodes, which the manual's pages show: operators
 * HOSTS */
#include <string.h>
#include <zklock/administration.h>
#include <zklock/striped_lock.h>

#include "../example.h"

enum { PATIENCE_MS = 5000, IDLE_MS = 0, STRIPES = 4 };

/* ---- Resources and queues ---------------------------------------------------------------- */

static int list_resources(zkl_client *client) {
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, PATIENCE_MS, &list);
    if (list != NULL) { /* there is one also if a part of it may not be read */
        for (size_t i = 0; i < list->count; i++) {
            const zkl_resource *one = list->resources[i];
            printf("%s: %zu contenders\n", one->name, one->contenders);
        }
    }
    zkl_report_free(list);
    return status;
}

static int print_queue(zkl_client *client, const char *resource) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, resource, PATIENCE_MS, &queue);
    for (size_t i = 0; queue != NULL && i < queue->count; i++) {
        const zkl_contender *one = queue->contenders[i];
        const zkl_identity *who = &one->identity;
        printf("%s %s on %s, process %s: %s\n", one->node, who->label, who->host, who->process_id,
               one->holds ? "holds" : "waits");
    }
    zkl_report_free(queue);
    return status;
}

static int find_deadlocks(zkl_client *client) {
    zkl_deadlocks *found = NULL;
    int status = zkl_deadlocks_find(client, PATIENCE_MS, &found);
    for (size_t i = 0; found != NULL && i < found->count; i++) {
        const zkl_deadlock *circle = found->deadlocks[i];
        for (size_t k = 0; k < circle->length; k++) {
            const zkl_deadlock_wait *wait = circle->waits[k];
            printf("%s waits for %s\n", wait->identity.owner, wait->resource);
        }
    }
    zkl_report_free(found);
    return status;
}

/* Asks the holder, who may go on: look at the queue again after a while. */
static int ask_for(zkl_client *client, const char *resource, const char *node) {
    int status = zkl_node_revoke(client, resource, node, PATIENCE_MS);
    if (status == ZKL_NO_NODE) {
        printf("it has gone already\n");
        return ZKL_OK;
    }
    return status;
}

/* Breaks the lock of a holder that is known to be gone: it is not stopped by this. */
static int break_lock(zkl_client *client, const char *resource, const char *node) {
    int status = zkl_node_break(client, resource, node, PATIENCE_MS);
    return status == ZKL_NO_NODE ? ZKL_OK : status;
}

static int clean(zkl_client *client) {
    zkl_resource_list *removed = NULL;
    int status = zkl_parents_remove_idle(client, IDLE_MS, IDLE_MS + PATIENCE_MS, 0, &removed);
    for (size_t i = 0; removed != NULL && i < removed->count; i++) {
        printf("removed %s\n", removed->resources[i]->name);
    }
    zkl_report_free(removed);
    return status;
}

/* ---- Any node ------------------------------------------------------------------------------ */

static int print_node(zkl_client *client, const char *path) {
    zkl_node *node = NULL;
    int status = zkl_node_read(client, path, PATIENCE_MS, &node);
    if (status == ZKL_OK) {
        printf("%s, version %d: %.*s\n", path, node->version, (int)node->size,
               (const char *)node->data);
    }
    zkl_report_free(node);
    return status;
}

/* Lets everybody look, and only clients that show one of our credentials change anything. */
static int close_to_strangers(zkl_client *client, const char *path) {
    return zkl_node_set_acl(client, path, "auth::cdrwa,world:anyone:r", PATIENCE_MS);
}

/* Deletes a node while the lock is held, if nobody has changed it since it was read. */
static int delete_unchanged(zkl_lock *lock, const char *path, int32_t version) {
    zkl_transaction *transaction = NULL;
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_delete(transaction, path, version);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, PATIENCE_MS, &result);
    }
    if (status == ZKL_OPERATION_FAILED && result.failed_status == ZKL_BAD_VERSION) {
        fprintf(stderr, "%s was changed: nothing was deleted\n", path);
    }
    zkl_transaction_free(transaction);
    return status;
}

/* ---- Credentials ----------------------------------------------------------------------------- */

/* Gives one credential, whenever a session is opened. */
static int give_credential(void *arg, size_t index, zkl_credential *credential) {
    const char *secret = arg; /* a real program fetches it here */
    if (index > 0) {
        return 0;
    }
    credential->secret = secret;
    credential->size = strlen(secret);
    return 1;
}

static int open_with_credential(const char *hosts, char *secret, zkl_client **client) {
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    security.credential_callback = give_credential;
    security.credential_arg = secret;
    security.node_acl = ZKL_ACL_AUTHENTICATED;
    options.security = &security;
    return zkl_client_open(hosts, &options, client);
}

/* Renews a password while the locks are held. */
static int change_password(zkl_client *client, const char *secret) {
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = secret;
    credential.size = strlen(secret);
    return zkl_client_set_credentials(client, &credential, 1);
}

/* ---- Stripes -----------------------------------------------------------------------------------
 */

static void on_stripe(void *arg, int status, const zkl_grant *grant) {
    if (status == ZKL_OK) {
        printf("stripe %d\n", grant->stripe);
        (void)zkl_lock_release(zkl_striped_lock_held(arg), 0);
    }
}

static int take_any_stripe(zkl_striped_lock *hot) {
    return zkl_striped_lock_acquire_async(hot, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, PATIENCE_MS,
                                          on_stripe, hot);
}

/* Ends the wait of another thread. */
static void stop_waiting(zkl_striped_lock *hot) {
    if (zkl_striped_lock_cancel(hot) == ZKL_NOT_WAITING) {
        printf("it does not wait: it was granted, or has not begun\n");
    }
}

static int use_stripes(zkl_client *client) {
    zkl_striped_lock *hot = NULL;
    int status = zkl_striped_lock_open(client, "hot", STRIPES, NULL, &hot);
    if (status == ZKL_OK) {
        stop_waiting(hot);
        status = take_any_stripe(hot);
    }
    zkl_striped_lock_close(hot);
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------
 */

static int make_node(zkl_lock *lock, const char *path) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_create(transaction, path, "none", 4, ZKL_CREATE_PERSISTENT);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, PATIENCE_MS, NULL);
    }
    zkl_transaction_free(transaction);
    return status;
}

static int use_node(zkl_client *client, zkl_lock *lock) {
    int status = make_node(lock, "/note");
    if (status == ZKL_OK) {
        status = print_node(client, "/note");
    }
    if (status == ZKL_OK) {
        status = close_to_strangers(client, "/note");
    }
    return status == ZKL_OK ? delete_unchanged(lock, "/note", 0) : status;
}

static int act_on_holder(zkl_client *client, zkl_lock *lock) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    if (status == ZKL_OK) {
        status = use_node(client, lock);
    }
    if (status == ZKL_OK) {
        status = print_queue(client, "stock");
    }
    if (status == ZKL_OK) {
        status = ask_for(client, "stock", strrchr(grant.node, '/') + 1);
    }
    if (status == ZKL_OK) {
        status = break_lock(client, "stock", strrchr(grant.node, '/') + 1);
    }
    return status;
}

static int look_around(zkl_client *client) {
    int status = list_resources(client);
    if (status == ZKL_OK) {
        status = find_deadlocks(client);
    }
    if (status == ZKL_OK) {
        status = use_stripes(client);
    }
    return status == ZKL_OK ? clean(client) : status;
}

static void on_news(void *arg, const zkl_lock_event *event) {
    (void)arg;
    printf("%s: %s\n", event->resource, zkl_lock_state_name((int)event->state));
}

static int operators_run(zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.state_callback = on_news;
    options.revocable = 1; /* others can ask for it */
    int status = zkl_lock_open(client, "stock", &options, &lock);
    if (status == ZKL_OK) {
        status = act_on_holder(client, lock);
    }
    zkl_lock_close(lock);
    return status == ZKL_OK ? look_around(client) : status;
}

static int open_and_change_password(const char *hosts) {
    zkl_client *client = NULL;
    int status = zkl_client_open(hosts, NULL, &client);
    if (status == ZKL_OK) {
        status = change_password(client, "operator:new");
    }
    (void)zkl_client_close(client, PATIENCE_MS);
    return status;
}

int main(int argc, char **argv) {
    static char secret[] = "operator:old";
    zkl_client *client = NULL;
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int status = open_with_credential(hosts, secret, &client);
    if (status == ZKL_OK) {
        status = operators_run(client);
    }
    if (status == ZKL_OK) {
        status = open_and_change_password(hosts);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, PATIENCE_MS);
    return status == ZKL_OK ? 0 : 1;
}
