/*
 * Who may do what on real servers: the permissions that each feature needs, as the table of
 * docs/security.md has them. Each feature is used with exactly these, and once without each.
 */
#include "support/closed.h"
#include "support/scene.h"
#include "support/servers.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <zklock/administration.h>
#include <zklock/election.h>
#include <zklock/striped_lock.h>

enum { PATH_SIZE = 320, ACL_SIZE = 256, SESSION_TICKS = 4, IDLE_MS = 50, SHORT_MS = 700 };

/* The user, whose permissions are looked at, and the owner, who has all of them. Identities as the
 * servers derive them from the secrets. */
static char user_secret[] = "user:u";
static char user_id[] = "user:fus1ge0EdQQmyKkLZ8gDRsS0KwU=";
static char owner_secret[] = "owner:o";
static char owner_id[] = "owner:rkvWnR1hUXZjPOX/KDyVY8dI50Q=";

/* Where permissions are given. ROOT: the lock root. RESOURCE: nodes of resources. OTHERS: nodes of
 * the owner's locks. OWN: nodes of the user's. */
enum place { ROOT, RESOURCE, OTHERS, OWN, PLACES };

struct stage {
    struct scene scene;
    char root[PATH_SIZE];
    char stock[PATH_SIZE + 8], sales[PATH_SIZE + 8];
    char letters[PLACES][8];
    zkl_client *owner;
    zkl_client *user;
    zkl_lock *owners;
    zkl_lock *users;
};

/* ---- ACLs ------------------------------------------------------------------------------------ */

static int bits_of(const char *letters) {
    static const char in_order[] = "rwcda";
    int bits = 0;
    for (; *letters != '\0'; letters++) {
        bits |= 1 << (strchr(in_order, *letters) - in_order);
    }
    return bits;
}

/* Given by hand, and so in force at once on the server of all clients here. */
static void give(const struct stage *stage, const char *path, const char *letters) {
    struct ACL entries[] = { { ZOO_PERM_ALL, { "digest", owner_id } },
                             { bits_of(letters), { "digest", user_id } } };
    struct ACL_vector acl = { letters[0] != '\0' ? 2 : 1, entries };
    ASSERT_NUMBER(zoo_set_acl(stage->scene.raw, path, -1, &acl), ZOK);
}

static void write_acl(const char *letters, char acl[ACL_SIZE]) {
    int length = snprintf(acl, ACL_SIZE, "digest:%s:cdrwa", owner_id);
    if (letters[0] != '\0') {
        snprintf(acl + length, ACL_SIZE - (size_t)length, ",digest:%s:%s", user_id, letters);
    }
}

/* ---- The stage ------------------------------------------------------------------------------- */

static zkl_client *open_client(const struct stage *stage, const char *secret, const char *node_acl,
                               bool container_parents) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    zkl_client *client = NULL;
    credential.secret = secret;
    credential.size = strlen(secret);
    options.security = &security;
    security.credentials = &credential;
    security.credential_count = 1;
    options.session_timeout_ms = (int32_t)servers_tick_ms() * SESSION_TICKS;
    options.connect_timeout_ms = PATIENCE_MS;
    options.lease_tick_ms = (int32_t)servers_tick_ms();
    options.lock_root = stage->root;
    security.node_acl = node_acl;
    security.parent_acl = ZKL_ACL_AUTHENTICATED;
    options.container_parents = container_parents ? 1 : 0;
    int status = zkl_client_open(server_host(servers_leader()), &options, &client);
    if (status != ZKL_OK) {
        give_up("zkl_client_open as %s: %s", secret, zkl_error_message());
    }
    return client;
}

static void show(zhandle_t *raw, const char *secret) {
    ASSERT_NUMBER(zoo_add_auth(raw, "digest", secret, (int)strlen(secret), NULL, NULL), ZOK);
}

/* What is made by hand is the owner's, and what the user makes can be deleted by hand. */
static void stage_begin(struct stage *stage, const char *stem) {
    scene_begin(&stage->scene, stem);
    raw_close(stage->scene.raw);
    stage->scene.raw = raw_open(server_host(servers_leader()));
    show(stage->scene.raw, owner_secret);
    show(stage->scene.raw, user_secret);
    snprintf(stage->root, sizeof(stage->root), "/%s-root", stage->scene.resource);
    snprintf(stage->stock, sizeof(stage->stock), "%s/stock", stage->root);
    snprintf(stage->sales, sizeof(stage->sales), "%s/sales", stage->root);
}

static void stage_end(struct stage *stage) {
    scene_end(&stage->scene);
}

static void ignore(void *arg, const zkl_lock_event *event) {
    (void)arg;
    (void)event;
}

static zkl_lock *open_revocable(zkl_client *client, const char *resource) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.state_callback = ignore;
    options.revocable = 1;
    ASSERT_STATUS(zkl_lock_open(client, resource, &options, &lock), ZKL_OK);
    return lock;
}

static void open_all(struct stage *stage, bool container_parents) {
    char others[ACL_SIZE];
    char own[ACL_SIZE];
    raw_make(stage->scene.raw, stage->root);
    raw_make(stage->scene.raw, stage->stock);
    raw_make(stage->scene.raw, stage->sales);
    give(stage, stage->root, stage->letters[ROOT]);
    give(stage, stage->stock, stage->letters[RESOURCE]);
    give(stage, stage->sales, stage->letters[RESOURCE]);
    write_acl(stage->letters[OTHERS], others);
    write_acl(stage->letters[OWN], own);
    stage->owner = open_client(stage, owner_secret, others, false);
    stage->user = open_client(stage, user_secret, own, container_parents);
    stage->owners = open_revocable(stage->owner, "stock");
    stage->users = lock_open(stage->user, "stock");
}

static bool is_empty(const struct stage *stage) {
    raw_catch_up(stage->scene.raw);
    return raw_children(stage->scene.raw, stage->stock) <= 1 &&
           raw_children(stage->scene.raw, stage->sales) == 0;
}

static void close_all(struct stage *stage) {
    static const char *const below[] = { "stock/stripe-0000", "stock/stripe-0001", "stock", "sales",
                                         "new" };
    char path[2 * PATH_SIZE];
    zkl_lock_close(stage->users);
    zkl_lock_close(stage->owners);
    raw_make(stage->scene.raw, stage->stock);
    raw_make(stage->scene.raw, stage->sales);
    give(stage, stage->stock, "cdrwa");
    give(stage, stage->sales, "cdrwa");
    (void)zkl_client_close(stage->user, SHORT_MS);
    client_close(stage->owner);
    WAIT_UNTIL(is_empty(stage));
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", stage->root, below[i]);
        raw_delete(stage->scene.raw, path);
    }
    raw_delete(stage->scene.raw, stage->root);
}

/* ---- Features, as the user uses them --------------------------------------------------------- */

/* ZKL_PENDING: it may not delete its node. */
static int release(zkl_lock *lock) {
    return zkl_lock_release(lock, SHORT_MS);
}

/* Of a lock that is held. */
static int end_with(zkl_lock *lock, int status) {
    int released = release(lock);
    return status != ZKL_OK ? status : released;
}

static int use(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    int status = zkl_lock_acquire(lock, mode, timeout_ms, NULL);
    return status != ZKL_OK ? status : release(lock);
}

static int acquire_and_release(struct stage *stage) {
    return use(stage->users, ZKL_EXCLUSIVE, PATIENCE_MS);
}

static int try_free_lock(struct stage *stage) {
    return use(stage->users, ZKL_EXCLUSIVE, 0);
}

static void owner_holds(struct stage *stage) {
    ASSERT_STATUS(zkl_lock_acquire(stage->owners, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
}

static void owner_releases(struct stage *stage) {
    ASSERT_STATUS(zkl_lock_release(stage->owners, PATIENCE_MS), ZKL_OK);
}

static int try_taken_lock(struct stage *stage) {
    owner_holds(stage);
    int status = zkl_lock_acquire(stage->users, ZKL_EXCLUSIVE, 0, NULL);
    owner_releases(stage);
    return status;
}

/* A refusal comes while the lock is held. */
static int wait_for_lock(struct stage *stage) {
    struct waiter waiter;
    owner_holds(stage);
    waiter_start(&waiter, stage->users, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(waiter_is_done(&waiter) || scene_watches_on(&stage->scene, stage->stock) > 0);
    bool refused = waiter_is_done(&waiter);
    owner_releases(stage);
    int status = waiter_join(&waiter);
    CU_ASSERT_EQUAL(refused, status != ZKL_OK);
    return status != ZKL_OK ? status : release(stage->users);
}

/* The session's first lease has ended by the second look. */
static int keep_lease(struct stage *stage) {
    int64_t end = now_ms() + servers_tick_ms() * (SESSION_TICKS + 1);
    int status = zkl_lock_acquire(stage->users, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    while (status == ZKL_OK && now_ms() < end) {
        nap();
        status = zkl_lock_check(stage->users, NULL);
    }
    return status != ZKL_OK ? status : release(stage->users);
}

static int verify(struct stage *stage) {
    int status = zkl_lock_acquire(stage->users, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = end_with(stage->users, zkl_lock_verify(stage->users, PATIENCE_MS));
    }
    return status;
}

static int commit(struct stage *stage) {
    zkl_transaction *transaction = NULL;
    int status = zkl_lock_acquire(stage->users, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        ASSERT_STATUS(zkl_transaction_begin(stage->users, &transaction), ZKL_OK);
        ASSERT_STATUS(zkl_transaction_check(transaction, stage->stock, ZKL_ANY_VERSION), ZKL_OK);
        status = zkl_transaction_commit(transaction, PATIENCE_MS, NULL);
        zkl_transaction_free(transaction);
        status = end_with(stage->users, status);
    }
    return status;
}

static int acquire_set(struct stage *stage) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_lock *both = NULL;
    members[0].resource = "stock";
    members[1].resource = "sales";
    ASSERT_STATUS(zkl_lock_open_set(stage->user, members, 2, NULL, &both), ZKL_OK);
    int status = use(both, ZKL_AS_OPENED, PATIENCE_MS);
    zkl_lock_close(both);
    return status;
}

static int downgrade(struct stage *stage) {
    int status = zkl_lock_acquire(stage->users, ZKL_WRITE, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = end_with(stage->users, zkl_lock_downgrade(stage->users, SHORT_MS));
    }
    return status;
}

static int upgrade(struct stage *stage) {
    int status = zkl_lock_acquire(stage->users, ZKL_READ, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = end_with(stage->users, zkl_lock_try_upgrade(stage->users, NULL));
    }
    return status;
}

static int campaign(struct stage *stage) {
    zkl_election *election = NULL;
    ASSERT_STATUS(zkl_election_open(stage->user, "stock", NULL, &election), ZKL_OK);
    int status = zkl_election_campaign(election, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = zkl_election_resign(election, SHORT_MS);
    }
    zkl_election_close(election);
    return status;
}

/* 1: nothing was said yet. */
static void on_leader(void *arg, const zkl_leader *leader) {
    atomic_store((atomic_int *)arg, leader->status);
}

static int observe(struct stage *stage) {
    zkl_observer *observer = NULL;
    atomic_int status = 1;
    owner_holds(stage);
    ASSERT_STATUS(zkl_election_observe(stage->user, "stock", on_leader, &status, &observer),
                  ZKL_OK);
    WAIT_UNTIL(atomic_load(&status) != 1);
    zkl_observer_close(observer);
    owner_releases(stage);
    return atomic_load(&status);
}

static int acquire_stripe(struct stage *stage) {
    zkl_striped_lock *striped = NULL;
    ASSERT_STATUS(zkl_striped_lock_open(stage->user, "stock", 2, NULL, &striped), ZKL_OK);
    int status = zkl_striped_lock_acquire(striped, 1, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = zkl_lock_release(zkl_striped_lock_held(striped), PATIENCE_MS);
    }
    zkl_striped_lock_close(striped);
    return status;
}

static int make_resource(struct stage *stage) {
    zkl_lock *lock = lock_open(stage->user, "new");
    int status = use(lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    zkl_lock_close(lock);
    return status;
}

/* ---- Features for operators ------------------------------------------------------------------ */

static int act_on_owners(struct stage *stage, int (*act)(zkl_client *client, const char *resource,
                                                         const char *node, int64_t timeout_ms)) {
    zkl_grant grant = ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(stage->owners, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    int status = act(stage->user, "stock", strrchr(grant.node, '/') + 1, PATIENCE_MS);
    (void)zkl_lock_release(stage->owners, PATIENCE_MS);
    return status;
}

static int revoke(struct stage *stage) {
    return act_on_owners(stage, zkl_node_revoke);
}

static int break_lock(struct stage *stage) {
    return act_on_owners(stage, zkl_node_break);
}

static int describe(struct stage *stage) {
    zkl_queue *queue = NULL;
    owner_holds(stage);
    int status = zkl_queue_describe(stage->user, "stock", PATIENCE_MS, &queue);
    CU_ASSERT_TRUE(status != ZKL_OK || queue->count == 1);
    zkl_report_free(queue);
    owner_releases(stage);
    return status;
}

static int list_resources(struct stage *stage) {
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(stage->user, PATIENCE_MS, &list);
    CU_ASSERT_TRUE(status != ZKL_OK || list->count == 2);
    zkl_report_free(list);
    return status;
}

/* Contenders are read where there are two. */
static int find_deadlocks(struct stage *stage) {
    zkl_deadlocks *deadlocks = NULL;
    zkl_lock *other = lock_open(stage->owner, "stock");
    ASSERT_STATUS(zkl_lock_acquire(stage->owners, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(other, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    int status = zkl_deadlocks_find(stage->user, PATIENCE_MS, &deadlocks);
    zkl_report_free(deadlocks);
    zkl_lock_close(other);
    owner_releases(stage);
    return status;
}

static int remove_idle(struct stage *stage) {
    zkl_resource_list *removed = NULL;
    int status = zkl_parents_remove_idle(stage->user, IDLE_MS, PATIENCE_MS, 0, &removed);
    CU_ASSERT_TRUE(status != ZKL_OK || removed->count == 2);
    zkl_report_free(removed);
    return status;
}

/* ---- The table ------------------------------------------------------------------------------- */

struct feature {
    const char *name;
    int (*use)(struct stage *stage);
    int status; /* with what it needs */
    const char *needs[PLACES];
    bool deletes_own; /* at last: until it may, the release is pending */
    bool container_parents;
};

static const struct feature features[] = {
    { "acquire", acquire_and_release, ZKL_OK, { "", "cdr", "", "" }, true, false },
    { "try", try_free_lock, ZKL_OK, { "", "cdr", "", "" }, true, false },
    { "try in vain", try_taken_lock, ZKL_BUSY, { "", "r", "", "" }, false, false },
    { "wait", wait_for_lock, ZKL_OK, { "", "cdr", "r", "" }, true, false },
    { "lease", keep_lease, ZKL_OK, { "", "cdr", "", "" }, true, false },
    { "verify", verify, ZKL_OK, { "", "cdr", "", "r" }, true, false },
    { "transaction", commit, ZKL_OK, { "", "cdr", "", "r" }, true, false },
    { "set", acquire_set, ZKL_OK, { "", "cdr", "", "r" }, true, false },
    { "downgrade", downgrade, ZKL_OK, { "", "cdr", "", "" }, false, false },
    { "upgrade", upgrade, ZKL_OK, { "", "cdr", "", "" }, true, false },
    { "election", campaign, ZKL_OK, { "", "cdr", "", "" }, true, false },
    { "observer", observe, ZKL_OK, { "", "r", "r", "" }, false, false },
    { "stripe", acquire_stripe, ZKL_OK, { "", "c", "", "" }, false, false },
    { "missing resource", make_resource, ZKL_OK, { "c", "", "", "" }, false, false },
    { "container", make_resource, ZKL_OK, { "c", "", "", "" }, false, true },
    { "revoke", revoke, ZKL_OK, { "", "", "w", "" }, false, false },
    { "break", break_lock, ZKL_OK, { "", "d", "", "" }, false, false },
    { "describe", describe, ZKL_OK, { "", "r", "r", "" }, false, false },
    { "list resources", list_resources, ZKL_OK, { "r", "r", "", "" }, false, false },
    { "find deadlocks", find_deadlocks, ZKL_OK, { "r", "r", "r", "" }, false, false },
    { "remove idle parents", remove_idle, ZKL_OK, { "rd", "r", "", "" }, false, false },
};

/* One letter is left out at a time; '\0': none. */
static int use_without(struct stage *stage, const struct feature *feature, enum place place,
                       char letter) {
    for (int i = 0; i < PLACES; i++) {
        size_t count = 0;
        for (const char *needed = feature->needs[i]; *needed != '\0'; needed++) {
            if (i != (int)place || *needed != letter) {
                stage->letters[i][count++] = *needed;
            }
        }
        stage->letters[i][count] = '\0';
    }
    open_all(stage, feature->container_parents);
    int status = feature->use(stage);
    close_all(stage);
    return status;
}

static void expect(struct stage *stage, const struct feature *feature, enum place place,
                   char letter, int wanted) {
    static const char *const places[] = { "lock root", "resource", "others' node", "own node" };
    int status = use_without(stage, feature, place, letter);
    if (status != wanted) {
        printf("\n%s without '%c' at the %s:", feature->name, letter, places[place]);
    }
    ASSERT_STATUS(status, wanted);
}

static void each_feature_needs_what_the_table_has(void) {
    struct stage stage;
    stage_begin(&stage, "rights");
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        expect(&stage, &features[i], ROOT, '\0', features[i].status);
        for (int place = 0; place < PLACES; place++) {
            for (const char *letter = features[i].needs[place]; *letter != '\0'; letter++) {
                bool releases = features[i].deletes_own && place == RESOURCE && *letter == 'd';
                expect(&stage, &features[i], (enum place)place, *letter,
                       releases ? ZKL_PENDING : ZKL_NO_PERMISSION);
            }
        }
    }
    stage_end(&stage);
}

/* ---- Numbers that are used up ---------------------------------------------------------------- */

/* The first sequence that is refused: tests/ensemble/sequence_test.c. */
#define FIRST_REFUSED INT64_C(2146435071)

static void open_used_up(struct stage *stage, const char *root_letters) {
    static const char *const needs[PLACES] = { "", "cdr", "", "" };
    for (int i = 0; i < PLACES; i++) {
        snprintf(stage->letters[i], sizeof(stage->letters[i]), "%s",
                 i == ROOT ? root_letters : needs[i]);
    }
    raw_make(stage->scene.raw, stage->root);
    raw_make(stage->scene.raw, stage->stock);
    servers_age(&(struct age){ stage->stock, FIRST_REFUSED }, 1);
    open_all(stage, false);
}

static void used_up_resource_needs_create_and_delete_at_the_lock_root(void) {
    static const struct {
        const char *root;
        int status;
    } cases[] = { { "cd", ZKL_OK }, { "c", ZKL_NO_PERMISSION }, { "d", ZKL_NO_PERMISSION } };
    if (!servers_can_age()) {
        printf("skipped: this driver cannot age nodes; ");
        return;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stage stage;
        stage_begin(&stage, "used-up");
        open_used_up(&stage, cases[i].root);
        ASSERT_STATUS(use(stage.users, ZKL_EXCLUSIVE, 4 * SHORT_MS), cases[i].status);
        close_all(&stage);
        stage_end(&stage);
    }
}

/* ---- Strangers ------------------------------------------------------------------------------- */

/* Nobody on open servers; on closed ones any credential is let in. */
static zhandle_t *open_stranger(void) {
    zhandle_t *stranger = raw_open(server_host(servers_leader()));
    show(stranger, "stranger:s");
    return stranger;
}

/* All that libzookeeper can ask about a node of a lock, and about the queue that it is in. */
static void expect_refusals(zhandle_t *stranger, const char *resource, const char *node) {
    char path[2 * PATH_SIZE];
    char text[8];
    int length = sizeof(text);
    struct Stat stat;
    struct String_vector children = { 0, NULL };
    struct ACL_vector acl = { 0, NULL };
    snprintf(path, sizeof(path), "%s/_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-", resource);
    ASSERT_NUMBER(zoo_delete(stranger, node, -1), ZNOAUTH);
    ASSERT_NUMBER(zoo_set(stranger, node, "__REVOKE__", 10, -1), ZNOAUTH);
    ASSERT_NUMBER(zoo_set_acl(stranger, node, -1, &ZOO_OPEN_ACL_UNSAFE), ZNOAUTH);
    ASSERT_NUMBER(zoo_set_acl(stranger, resource, -1, &ZOO_OPEN_ACL_UNSAFE), ZNOAUTH);
    ASSERT_NUMBER(zoo_create(stranger, path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                             ZOO_EPHEMERAL | ZOO_SEQUENCE, path, sizeof(path)),
                  ZNOAUTH);
    ASSERT_NUMBER(zoo_get(stranger, node, 0, text, &length, &stat), ZNOAUTH);
    ASSERT_NUMBER(zoo_exists(stranger, node, 0, &stat), ZNOAUTH);
    ASSERT_NUMBER(zoo_get_children(stranger, resource, 0, &children), ZNOAUTH);
    ASSERT_NUMBER(zoo_get_acl(stranger, node, &acl, &stat), ZNOAUTH);
}

static void stranger_is_refused_whatever_it_asks_and_the_holder_notices_nothing(void) {
    struct stage stage;
    zkl_grant grant = ZKL_GRANT_INIT;
    stage_begin(&stage, "stranger");
    zkl_client *client = open_client(&stage, owner_secret, ZKL_ACL_AUTHENTICATED, false);
    zkl_lock *lock = lock_open(client, "stock");
    zhandle_t *stranger = open_stranger();
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    expect_refusals(stranger, stage.stock, grant.node);
    ASSERT_STATUS(zkl_lock_verify(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(zoo_delete(stranger, stage.stock, -1), ZNOAUTH);
    raw_close(stranger);
    zkl_lock_close(lock);
    client_close(client);
    raw_delete(stage.scene.raw, stage.stock);
    raw_delete(stage.scene.raw, stage.root);
    stage_end(&stage);
}

/* On closed servers alone. */
static int no_credential(void *arg, size_t index, zkl_credential *credential) {
    (void)arg;
    (void)index;
    (void)credential;
    return 0;
}

static void client_without_a_credential_is_told_so_where_one_is_required(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client *client = NULL;
    options.security = &security;
    security.credential_callback = no_credential;
    security.unprotected = 1; /* else it shows one of its own */
    int status = zkl_client_open(servers_hosts(), &options, &client);
    if (status == ZKL_OK) {
        zkl_lock *lock = lock_open(client, "security-nobody");
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
        zkl_lock_close(lock);
        (void)zkl_client_close(client, PATIENCE_MS);
    }
    ASSERT_STATUS(status, closed_secret() != NULL ? ZKL_AUTH_FAILED : ZKL_OK);
}

/* ---- Protected nodes ---------------------------------------------------------------------------
 */

/* As the servers show an ACL to who may read it, "scheme:user permissions; " of each entry. */
static void read_acl(zhandle_t *raw, const char *path, char *text, size_t size) {
    struct ACL_vector acl = { 0, NULL };
    struct Stat stat;
    text[0] = '\0';
    ASSERT_NUMBER(zoo_get_acl(raw, path, &acl, &stat), ZOK);
    for (int32_t i = 0; i < acl.count; i++) {
        const struct Id *id = &acl.data[i].id;
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s:%.*s %d; ", id->scheme, (int)strcspn(id->id, ":"),
                 id->id, (int)acl.data[i].perms);
    }
    deallocate_ACL_vector(&acl);
}

static void expect_acl(zhandle_t *raw, const char *path, const char *expected) {
    char text[ACL_SIZE];
    read_acl(raw, path, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, expected);
}

/* Another program of the application, which shows the same credential, sets neither. It waits, and
 * gets the lock. */
static void expect_protected(struct stage *stage, zkl_client *colleague, zkl_mode mode) {
    struct waiter waiter;
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *waiting = lock_open(colleague, "stock");
    ASSERT_STATUS(zkl_lock_acquire(stage->users, mode, PATIENCE_MS, &grant), ZKL_OK);
    ASSERT_NUMBER(zoo_set(stage->scene.raw, grant.node, "__REVOKE__", 10, -1), ZNOAUTH);
    ASSERT_NUMBER(zoo_set_acl(stage->scene.raw, grant.node, -1, &ZOO_OPEN_ACL_UNSAFE), ZNOAUTH);
    ASSERT_NUMBER(zoo_set_acl(stage->scene.raw, grant.node, -1, &ZOO_CREATOR_ALL_ACL), ZNOAUTH);
    expect_acl(stage->scene.raw, grant.node, "digest:user 13; digest:zklock 18; ");
    ASSERT_STATUS(zkl_node_revoke(colleague, "stock", strrchr(grant.node, '/') + 1, PATIENCE_MS),
                  ZKL_NO_PERMISSION);
    waiter_start(&waiter, waiting, mode, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&stage->scene, stage->stock) > 0);
    ASSERT_STATUS(zkl_lock_release(stage->users, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    zkl_lock_close(waiting);
}

static void protected_node_is_set_by_nobody_of_the_same_credential(void) {
    struct stage stage = { .letters = { "cdrwa", "cdrwa", "cdrwa", "cdrwa" } };
    stage_begin(&stage, "protected");
    stage.user = open_client(&stage, user_secret, ZKL_ACL_AUTHENTICATED, false);
    stage.users = lock_open(stage.user, "stock");
    zkl_client *colleague = open_client(&stage, user_secret, ZKL_ACL_AUTHENTICATED, false);
    expect_protected(&stage, colleague, ZKL_EXCLUSIVE);
    expect_protected(&stage, colleague, ZKL_WRITE);
    expect_acl(stage.scene.raw, stage.root, "digest:user 31; ");
    expect_acl(stage.scene.raw, stage.stock, "digest:user 31; ");
    zkl_lock_close(stage.users);
    client_close(colleague);
    client_close(stage.user);
    raw_delete(stage.scene.raw, stage.stock);
    raw_delete(stage.scene.raw, stage.root);
    stage_end(&stage);
}

/* In the owner's queue: behind a lock that is held, before one that waits. */
static void make_forged_node(struct stage *stage, zhandle_t *forger, char *made, size_t size) {
    char path[2 * PATH_SIZE];
    snprintf(path, sizeof(path), "%s/_c_6ba7b810-9dad-81d1-80b4-00c04fd430c8-lock-", stage->stock);
    ASSERT_NUMBER(zoo_create(forger, path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                             ZOO_EPHEMERAL | ZOO_SEQUENCE, made, (int)size),
                  ZOK);
}

static int wait_behind_forger(struct stage *stage, bool revocable) {
    struct waiter waiter;
    char forged[2 * PATH_SIZE];
    zhandle_t *forger = raw_open(server_host(servers_leader()));
    zkl_client *colleague = open_client(stage, owner_secret, ZKL_ACL_AUTHENTICATED, false);
    zkl_lock *waiting =
        revocable ? open_revocable(colleague, "stock") : lock_open(colleague, "stock");
    show(forger, user_secret);
    ASSERT_STATUS(zkl_lock_acquire(stage->owners, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    make_forged_node(stage, forger, forged, sizeof(forged));
    waiter_start(&waiter, waiting, ZKL_EXCLUSIVE, SHORT_MS);
    WAIT_UNTIL(scene_watches_on(&stage->scene, stage->stock) > 0);
    ASSERT_NUMBER(zoo_set(forger, forged, "", 0, -1), ZOK);
    int status = waiter_join(&waiter);
    ASSERT_STATUS(zkl_lock_verify(stage->owners, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage->owners, PATIENCE_MS), ZKL_OK);
    zkl_lock_close(waiting);
    client_close(colleague);
    raw_close(forger);
    return status;
}

/* It cannot even read. */
static void client_that_may_only_create_feigns_a_release(void) {
    struct stage stage;
    stage_begin(&stage, "forged");
    stage.owner = open_client(&stage, owner_secret, ZKL_ACL_AUTHENTICATED, false);
    stage.owners = lock_open(stage.owner, "stock");
    ASSERT_STATUS(use(stage.owners, ZKL_EXCLUSIVE, PATIENCE_MS), ZKL_OK);
    give(&stage, stage.stock, "c");
    ASSERT_STATUS(wait_behind_forger(&stage, false), ZKL_OK);
    ASSERT_STATUS(wait_behind_forger(&stage, true), ZKL_TIMEOUT);
    zkl_lock_close(stage.owners);
    client_close(stage.owner);
    raw_delete(stage.scene.raw, stage.stock);
    raw_delete(stage.scene.raw, stage.root);
    stage_end(&stage);
}

/* ---- From open to closed --------------------------------------------------------------------- */

/* ---- Other credentials ----------------------------------------------------------------------- */

static void show_credentials(zkl_client *client, char *const secrets[], int count) {
    zkl_credential credentials[2] = { ZKL_CREDENTIAL_INIT, ZKL_CREDENTIAL_INIT };
    for (int i = 0; i < count; i++) {
        credentials[i].secret = secrets[i];
        credentials[i].size = strlen(secrets[i]);
    }
    ASSERT_STATUS(zkl_client_set_credentials(client, credentials, count), ZKL_OK);
}

static int try_lock(zkl_client *client, const char *resource) {
    zkl_lock *lock = lock_open(client, resource);
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    zkl_lock_close(lock);
    return status;
}

/* The lock root is the user's: whoever is the owner alone may do nothing there. */
static void sessions_take_other_credentials_and_keep_locks_and_places(void) {
    struct stage stage;
    struct waiter waiter;
    char *secrets[] = { owner_secret, user_secret };
    stage_begin(&stage, "rotation");
    zkl_client *client = open_client(&stage, user_secret, ZKL_ACL_AUTHENTICATED, false);
    zkl_client *colleague = open_client(&stage, user_secret, ZKL_ACL_AUTHENTICATED, false);
    zkl_lock *lock = lock_open(client, "stock");
    zkl_lock *waiting = lock_open(colleague, "stock");
    int64_t session_id = client_information(client).session_id;
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, waiting, ZKL_EXCLUSIVE, PATIENCE_MS);
    for (int i = 0; i < 10; i++) {
        show_credentials(client, secrets, 2);
        show_credentials(colleague, secrets, 2);
        (void)poll(NULL, 0, 20 * i); /* the first ones come while others are under way */
        ASSERT_STATUS(zkl_lock_verify(lock, PATIENCE_MS), ZKL_OK);
    }
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    show_credentials(client, secrets, 1);
    WAIT_UNTIL(try_lock(client, "sales") == ZKL_NO_PERMISSION);
    show_credentials(client, &secrets[1], 1);
    WAIT_UNTIL(try_lock(client, "sales") == ZKL_OK);
    ASSERT_NUMBER(client_information(client).session_id, session_id);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    ASSERT_NUMBER(client_information(colleague).sessions_expired, 0);
    zkl_lock_close(waiting);
    zkl_lock_close(lock);
    client_close(colleague);
    client_close(client);
    raw_delete(stage.scene.raw, stage.sales);
    raw_delete(stage.scene.raw, stage.stock);
    raw_delete(stage.scene.raw, stage.root);
    stage_end(&stage);
}

static void make_open(const struct stage *stage, const char *path) {
    ASSERT_NUMBER(zoo_create(stage->scene.raw, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0),
                  ZOK);
}

/* Under a lock that is elsewhere. */
static void make_root_again(struct stage *stage, zkl_client *client, const char *elsewhere) {
    zkl_transaction *transaction = NULL;
    zkl_lock *lock = lock_open(client, elsewhere);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_delete(transaction, stage->root, ZKL_ANY_VERSION), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_create(transaction, stage->root, "", 0, ZKL_CREATE_PERSISTENT),
                  ZKL_OK);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
    zkl_lock_close(lock);
}

static void open_parents_are_closed_by_public_functions_while_they_are_empty(void) {
    struct stage stage;
    char elsewhere[PATH_SIZE + 8];
    zkl_resource_list *removed = NULL;
    stage_begin(&stage, "closing");
    snprintf(elsewhere, sizeof(elsewhere), "%s-guard", stage.root);
    make_open(&stage, stage.root);
    make_open(&stage, stage.stock);
    zkl_client *client = open_client(&stage, owner_secret, ZKL_ACL_AUTHENTICATED, false);
    zkl_lock *lock = lock_open(client, "stock");
    ASSERT_STATUS(use(lock, ZKL_EXCLUSIVE, PATIENCE_MS), ZKL_OK);
    CU_ASSERT_FALSE(raw_is_closed(stage.scene.raw, stage.stock));
    ASSERT_STATUS(zkl_parents_remove_idle(client, IDLE_MS, PATIENCE_MS, 0, &removed), ZKL_OK);
    ASSERT_NUMBER(removed->count, 1);
    zkl_report_free(removed);
    make_root_again(&stage, client, elsewhere);
    ASSERT_STATUS(use(lock, ZKL_EXCLUSIVE, PATIENCE_MS), ZKL_OK);
    CU_ASSERT_TRUE(raw_is_closed(stage.scene.raw, stage.root));
    CU_ASSERT_TRUE(raw_is_closed(stage.scene.raw, stage.stock));
    zkl_lock_close(lock);
    client_close(client);
    raw_delete(stage.scene.raw, elsewhere);
    raw_delete(stage.scene.raw, stage.stock);
    raw_delete(stage.scene.raw, stage.root);
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(each_feature_needs_what_the_table_has),
        TEST_CASE(used_up_resource_needs_create_and_delete_at_the_lock_root),
        TEST_CASE(protected_node_is_set_by_nobody_of_the_same_credential),
        TEST_CASE(client_that_may_only_create_feigns_a_release),
        TEST_CASE(sessions_take_other_credentials_and_keep_locks_and_places),
        TEST_CASE(stranger_is_refused_whatever_it_asks_and_the_holder_notices_nothing),
        TEST_CASE(open_parents_are_closed_by_public_functions_while_they_are_empty),
        TEST_CASE(client_without_a_credential_is_told_so_where_one_is_required),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
