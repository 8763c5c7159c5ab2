/*
 * Random walks of a request through a small world: one server's children of
 * one resource, a connection that answers in order, breaks and comes back,
 * a server that denies the session and goes on answering reads,
 * writes that are applied although their replies are lost, or later than that,
 * a server that stands still with a create and goes on after other writes of the session,
 * sessions that expire, a process that is stopped for longer than its session,
 * leases that run out, others who come, go, copy our names and become readers in
 * the place of their writer, administrators who delete, and a user who gives up,
 * downgrades or releases; for locks and permits, with and without a limit of the queue, alone or
 * as a member of a set. Each seed walks the same way every time.
 *
 * In each step the monitor's rules hold. Beyond them the world knows:
 *     a grant is given only to a node of our session that nothing blocks, and
 *     its token is that node's czxid;
 *     a downgrade keeps that token;
 *     no node is deleted that our session does not own, and no resource's that holds data;
 *     after END there is no node of ours, and no write that could still make one;
 *     when the faults end, the request comes to its end as well.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recipe/request_common.h"
#include "support/listed.h"
#include "support/monitor.h"
#include "support/names.h"
#include "support/unit.h"

enum { SEEDS = 20000, STEPS = 250, HEALING_STEPS = 400 };
enum { NODES_MAX = 64, OTHERS_MAX = 8, SENT_MAX = 8, LATE_MAX = 16, PERMITS_MAX = 3 };

typedef struct child_node {
    char name[NAME_SIZE];
    char letter; /* of names.h; m: ours */
    int32_t sequence;
    int64_t owner; /* a session; 0: another's */
    int64_t zxid;
} child_node;

typedef struct sent_operation {
    zkl_action_kind kind;
    char node[NAME_SIZE];
    char writer[NAME_SIZE]; /* DOWNGRADE: in whose place */
    int32_t version;        /* REMOVE_PARENT: that it must have */
} sent_operation;

typedef struct small_world {
    bool parent;
    int64_t parent_zxid;
    int32_t parent_version; /* 0: nobody has written to it */
    int32_t inspected_version;
    child_node nodes[NODES_MAX];
    size_t count;
    int32_t next_sequence;
    int64_t zxid;
    int64_t session;
    bool connected;
    sent_operation sent[SENT_MAX]; /* and not yet answered */
    size_t sent_count;
    sent_operation late[LATE_MAX]; /* lost with a connection, perhaps to be applied */
    size_t late_count;
    sent_operation held_back;              /* a create that a server has which stands still, */
    bool holds_back;                       /* if there is one */
    char to_watch[PERMITS_MAX][NAME_SIZE]; /* by the WATCH that was sent */
    size_t to_watch_count;
    char watched[PERMITS_MAX][NAME_SIZE];
    size_t watched_count;
    char watched_own[NAME_SIZE];
    bool lease_runs;
    bool backing_off;
} small_world;

typedef struct random_walk {
    unit_random random;
    char name[64];
    zkl_request request;
    request_monitor monitor;
    small_world world;
    zkl_mode mode;
    unsigned permits;
    bool is_protected;
    int64_t token;
    const char *listed[NODES_MAX]; /* the last list */
    size_t listed_count;
    char guid[NAME_GUID_SIZE];
    char prefix[NAME_SIZE];
    bool faults;
} random_walk;

/* What all walks together came across, lest they walk past everything. */
static struct {
    unsigned grants, failures, losses, rejoins, inspections, ends, late_creates, watches;
    unsigned hand_offs, stops, kept_nodes, deleted_while_held, hold_limits, downgrades, drains;
    unsigned own_downgrades, permits, full, members, data_written, data_deleted;
    unsigned told, releases_told, answers_after_a_denial, found_late;
} seen;

#define CHECK(walk, condition)                                                                     \
    unit_check((condition), __FILE__, __LINE__, "%s, step %u: %s", (walk)->name,                   \
               (walk)->monitor.steps, #condition)

static bool chance(random_walk *walk, unsigned percent) {
    return unit_random_below(&walk->random, 100) < percent;
}

/* ---- The server ------------------------------------------------------------ */

static child_node *find_child(small_world *world, const char *name) {
    for (size_t i = 0; i < world->count; i++) {
        if (strcmp(world->nodes[i].name, name) == 0) {
            return &world->nodes[i];
        }
    }
    return NULL;
}

static void remove_child(small_world *world, const child_node *child) {
    size_t place = (size_t)(child - world->nodes);
    world->count--;
    memmove(&world->nodes[place], &world->nodes[place + 1],
            (world->count - place) * sizeof(world->nodes[0]));
}

static child_node *add_child(small_world *world, char letter, int64_t owner) {
    child_node *added = &world->nodes[world->count++];
    *added = (child_node){ .letter = letter, .owner = owner };
    added->sequence = world->next_sequence++;
    added->zxid = ++world->zxid;
    return added;
}

static bool create(small_world *world, const char *prefix) {
    if (!world->parent || world->count == NODES_MAX) {
        return false;
    }
    child_node *added = add_child(world, 'm', world->session);
    snprintf(added->name, sizeof(added->name), "%.60s%010" PRId32, prefix, added->sequence);
    return true;
}

static void make_parent(small_world *world) {
    if (!world->parent) {
        world->parent = true;
        world->parent_zxid = ++world->zxid;
        world->parent_version = 0;
    }
}

/* The next parent counts from the beginning. */
static bool remove_parent(small_world *world, int32_t version) {
    if (!world->parent || world->count > 0 || world->parent_version != version) {
        return false;
    }
    seen.data_deleted += version > 0 ? 1U : 0U;
    world->parent = false;
    world->next_sequence = 0;
    return true;
}

/* An application that uses the resource's node. */
static void somebody_writes_to_parent(small_world *world) {
    if (world->parent) {
        world->parent_version++;
        seen.data_written++;
    }
}

/* In one transaction. */
static bool become_reader(small_world *world, const sent_operation *operation) {
    child_node *writer = find_child(world, operation->writer);
    if (writer == NULL) {
        return false;
    }
    memcpy(writer->name, operation->node, NAME_SIZE);
    writer->zxid = ++world->zxid;
    return true;
}

static void apply(small_world *world, const sent_operation *operation) {
    child_node *child = find_child(world, operation->node);
    if (operation->kind == ZKL_ACTION_CREATE) {
        seen.late_creates += create(world, operation->node) ? 1U : 0U;
    } else if ((operation->kind == ZKL_ACTION_DELETE || operation->kind == ZKL_ACTION_HAND_OVER) &&
               child != NULL) {
        remove_child(world, child);
    } else if (operation->kind == ZKL_ACTION_MAKE_PARENT) {
        make_parent(world);
    } else if (operation->kind == ZKL_ACTION_REMOVE_PARENT) {
        (void)remove_parent(world, operation->version);
    } else if (operation->kind == ZKL_ACTION_DOWNGRADE) {
        (void)become_reader(world, operation);
    }
}

static void apply_oldest_late(small_world *world, bool really) {
    sent_operation oldest = world->late[0];
    world->late_count--;
    memmove(world->late, world->late + 1, world->late_count * sizeof(world->late[0]));
    if (really) {
        apply(world, &oldest);
    }
}

/* A write that is committed on a new connection: what was sent before it on an
 * old one is applied before it, or never. */
static void decide_late(random_walk *walk) {
    while (walk->world.late_count > 0) {
        apply_oldest_late(&walk->world, chance(walk, 50));
    }
}

/* ---- What the request wants, and gets ----------------------------------------- */

static bool reads(char letter, zkl_mode mode) {
    return letter == 'm' ? mode == ZKL_READ : letter == 'r' || letter == 'q';
}

/* Of an unknown kind nobody can tell a minus sign from a dash. */
static bool is_request(const child_node *node) {
    return node->letter != 'j' && !(node->letter == 'u' && node->sequence < 0);
}

/* For a permit of n: n are earlier, or one that is not for as many. */
static bool is_blocked(const random_walk *walk, const child_node *own) {
    unsigned earlier = 0;
    for (size_t i = 0; i < walk->world.count; i++) {
        const child_node *other = &walk->world.nodes[i];
        bool conflict = !(walk->mode == ZKL_READ && reads(other->letter, walk->mode));
        bool before = is_request(other) && other->sequence < own->sequence;
        unsigned like = other->letter == 'p' ? 2 : other->letter == 't' ? 3 : 0;
        if (other->letter == 'm') {
            like = walk->permits; /* somebody has copied our name */
        }
        if (before && walk->permits == 0 && conflict) {
            return true;
        }
        if (before && walk->permits > 0 && like != walk->permits) {
            return true;
        }
        earlier += before ? 1 : 0;
    }
    return walk->permits > 0 && earlier >= walk->permits;
}

static void check_grant(random_walk *walk) {
    const child_node *own = find_child(&walk->world, walk->request.own.node);
    seen.grants++;
    seen.permits += walk->permits > 0 ? 1U : 0U;
    seen.members += walk->request.options.is_member ? 1U : 0U;
    walk->token = walk->request.own.zxid;
    CHECK(walk, own != NULL);
    if (own != NULL) {
        CHECK(walk, own->owner == walk->world.session);
        CHECK(walk, own->zxid == walk->request.own.zxid);
        CHECK(walk, !is_blocked(walk, own));
        CHECK(walk, own->sequence >= 0 && own->sequence < INT32_MAX - (1 << 20) + 1);
    }
}

static void check_end(random_walk *walk) {
    seen.ends++;
    for (size_t i = 0; i < walk->world.count; i++) {
        CHECK(walk, walk->world.nodes[i].owner != walk->world.session);
    }
    for (size_t i = 0; i < walk->world.late_count; i++) {
        CHECK(walk, walk->world.late[i].kind != ZKL_ACTION_CREATE);
    }
    CHECK(walk, !walk->world.holds_back);
    CHECK(walk, walk->world.sent_count == 0);
}

static void send(random_walk *walk, const zkl_action *action) {
    small_world *world = &walk->world;
    CHECK(walk, world->sent_count < SENT_MAX);
    if (world->sent_count == SENT_MAX) {
        return;
    }
    sent_operation *sent = &world->sent[world->sent_count++];
    sent->kind = action->kind;
    snprintf(sent->node, sizeof(sent->node), "%s", action->node != NULL ? action->node : "");
    snprintf(sent->writer, sizeof(sent->writer), "%s", walk->request.own.node);
    sent->version = world->inspected_version;
}

/* As the runner does it. */
static void choose_whom_to_watch(random_walk *walk, const char *blocker) {
    zkl_neighbour nearest[PERMITS_MAX];
    small_world *world = &walk->world;
    zkl_listed list = listed((zkl_children){ walk->listed, walk->listed_count });
    zkl_contenders_place place = zkl_request_place(&walk->request);
    world->to_watch_count = zkl_contenders_find_nearest(list, &place, nearest);
    CHECK(walk, world->to_watch_count == (walk->permits > 0 ? walk->permits : 1));
    for (size_t i = 0; i < world->to_watch_count; i++) {
        snprintf(world->to_watch[i], NAME_SIZE, "%s", nearest[i].text);
    }
    CHECK(walk, strcmp(world->to_watch[world->to_watch_count - 1], blocker) == 0);
}

static void note_downgrade(random_walk *walk, int status) {
    if (status == ZKL_OK) {
        const child_node *own = find_child(&walk->world, walk->request.own.node);
        seen.own_downgrades++;
        CHECK(walk, walk->request.options.mode == ZKL_READ);
        CHECK(walk, walk->request.own.zxid == walk->token);
        CHECK(walk, own == NULL || own->owner == walk->world.session); /* NULL: by hand */
    }
}

static void note_loss(random_walk *walk, int status) {
    bool there = find_child(&walk->world, walk->request.own.node) != NULL;
    seen.losses++;
    seen.kept_nodes += status == ZKL_LEASE_ENDED ? 1U : 0U;
    seen.deleted_while_held += status == ZKL_NODE_DELETED ? 1U : 0U;
    seen.hold_limits += status == ZKL_HOLD_LIMIT ? 1U : 0U;
    CHECK(walk, status != ZKL_NODE_DELETED || !there);
}

static void perform(random_walk *walk, const zkl_action *action) {
    switch (action->kind) {
    case ZKL_ACTION_BACK_OFF:
        walk->world.backing_off = true;
        break;
    case ZKL_ACTION_UNWATCH:
        walk->world.watched_count = 0;
        break;
    case ZKL_ACTION_UNWATCH_OWN:
        walk->world.watched_own[0] = '\0';
        break;
    case ZKL_ACTION_GRANT:
        check_grant(walk);
        break;
    case ZKL_ACTION_FAIL:
        seen.failures++;
        seen.full += action->status == ZKL_QUEUE_FULL ? 1U : 0U;
        break;
    case ZKL_ACTION_DOWNGRADE_ENDED:
        note_downgrade(walk, action->status);
        break;
    case ZKL_ACTION_WATCH:
        seen.watches++;
        choose_whom_to_watch(walk, action->node);
        send(walk, action);
        break;
    case ZKL_ACTION_LOSE:
        note_loss(walk, action->status);
        break;
    case ZKL_ACTION_REJOIN:
        seen.rejoins++;
        break;
    case ZKL_ACTION_END:
        check_end(walk);
        break;
    case ZKL_ACTION_REPORT:
    case ZKL_ACTION_WARN:
        break;
    default:
        seen.inspections += action->kind == ZKL_ACTION_INSPECT ? 1U : 0U;
        send(walk, action);
        break;
    }
}

static void feed(random_walk *walk, const zkl_event *event) {
    zkl_actions actions;
    monitor_step(&walk->monitor, &walk->request, event, &actions, walk->name);
    for (size_t i = 0; i < actions.count && i < ZKL_ACTIONS_MAX; i++) {
        perform(walk, &actions.list[i]);
    }
}

static void feed_news(random_walk *walk, zkl_event_kind kind, int status) {
    feed(walk, &(zkl_event){ .kind = kind, .status = status });
}

/* ---- Replies --------------------------------------------------------------------- */

static zkl_event_kind answer_to(zkl_action_kind kind) {
    switch (kind) {
    case ZKL_ACTION_CREATE:
        return ZKL_EVENT_CREATED;
    case ZKL_ACTION_LIST:
        return ZKL_EVENT_LISTED;
    case ZKL_ACTION_MAKE_PARENT:
        return ZKL_EVENT_PARENT_MADE;
    case ZKL_ACTION_WATCH:
        return ZKL_EVENT_WATCHED;
    case ZKL_ACTION_INSPECT:
        return ZKL_EVENT_INSPECTED;
    case ZKL_ACTION_DELETE:
        return ZKL_EVENT_DELETED;
    case ZKL_ACTION_HAND_OVER:
        return ZKL_EVENT_HANDED_OVER;
    case ZKL_ACTION_WATCH_OWN:
        return ZKL_EVENT_OWN_WATCHED;
    case ZKL_ACTION_INSPECT_PARENT:
        return ZKL_EVENT_PARENT_INSPECTED;
    case ZKL_ACTION_REMOVE_PARENT:
        return ZKL_EVENT_PARENT_REMOVED;
    case ZKL_ACTION_DOWNGRADE:
        return ZKL_EVENT_DOWNGRADED;
    default:
        return ZKL_EVENT_SETTLED;
    }
}

static sent_operation take_sent(small_world *world) {
    sent_operation oldest = world->sent[0];
    world->sent_count--;
    memmove(world->sent, world->sent + 1, world->sent_count * sizeof(world->sent[0]));
    return oldest;
}

static void serve_create(random_walk *walk, const sent_operation *operation) {
    zkl_event event = { .kind = ZKL_EVENT_CREATED, .outcome = ZKL_OUTCOME_NO_NODE };
    char name[NAME_SIZE];
    if (create(&walk->world, operation->node)) {
        const child_node *made = &walk->world.nodes[walk->world.count - 1];
        snprintf(name, sizeof(name), "%s", made->name);
        event.outcome = ZKL_OUTCOME_OK;
        event.node = name;
        event.zxid =
            walk->request.options.is_member ? 0 : made->zxid; /* a transaction does not tell */
    }
    feed(walk, &event);
}

static void serve_list(random_walk *walk) {
    static char copies[NODES_MAX][NAME_SIZE];
    const char **names = walk->listed;
    size_t count = walk->world.count;
    walk->listed_count = count;
    size_t first = count > 0 ? unit_random_below(&walk->random, (unsigned)count) : 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(copies[i], walk->world.nodes[(first + i) % count].name, NAME_SIZE);
        names[i] = copies[i];
    }
    feed(walk, &(zkl_event){
                   .kind = ZKL_EVENT_LISTED,
                   .outcome = walk->world.parent ? ZKL_OUTCOME_OK : ZKL_OUTCOME_NO_NODE,
                   .fresh = !walk->faults || chance(walk, 95),
                   .children = listed((zkl_children){ names, count }),
               });
}

static void fire_own_if_gone(random_walk *walk) {
    small_world *world = &walk->world;
    if (world->connected && world->watched_own[0] != '\0' &&
        find_child(world, world->watched_own) == NULL) {
        world->watched_own[0] = '\0';
        feed_news(walk, ZKL_EVENT_OWN_WATCH_FIRED, ZKL_OK);
    }
}

/* What is told must be true: its holder was alone, and nobody is left before it. */
static void check_hand_over(random_walk *walk, const child_node *own) {
    seen.releases_told++;
    CHECK(walk, walk->permits == 0 && walk->request.options.mode != ZKL_READ);
    CHECK(walk, name_is_protected(own->name));
    CHECK(walk, !is_blocked(walk, own));
}

static void serve_delete(random_walk *walk, const sent_operation *operation) {
    const child_node *child = find_child(&walk->world, operation->node);
    zkl_event event = { .kind = answer_to(operation->kind), .outcome = ZKL_OUTCOME_NO_NODE };
    if (child != NULL) {
        CHECK(walk, child->owner == walk->world.session);
        if (operation->kind == ZKL_ACTION_HAND_OVER) {
            check_hand_over(walk, child);
        }
        remove_child(&walk->world, child);
        event.outcome = ZKL_OUTCOME_OK;
        fire_own_if_gone(walk); /* the news comes before the reply */
    }
    feed(walk, &event);
}

/* Of several watches: all, or one of them comes too late. */
static void serve_watch(random_walk *walk) {
    small_world *world = &walk->world;
    zkl_event event = { .kind = ZKL_EVENT_WATCHED,
                        .outcome = ZKL_OUTCOME_OK,
                        .fresh = chance(walk, 90) };
    for (size_t i = 0; i < world->to_watch_count; i++) {
        if (find_child(world, world->to_watch[i]) == NULL) {
            event.outcome = ZKL_OUTCOME_NO_NODE;
        }
    }
    if (event.outcome == ZKL_OUTCOME_OK) {
        memcpy(world->watched, world->to_watch, sizeof(world->watched));
        world->watched_count = world->to_watch_count;
    }
    feed(walk, &event);
}

static void serve_downgrade(random_walk *walk, const sent_operation *operation) {
    zkl_event event = { .kind = ZKL_EVENT_DOWNGRADED, .outcome = ZKL_OUTCOME_NO_NODE };
    if (become_reader(&walk->world, operation)) {
        event.outcome = ZKL_OUTCOME_OK;
        fire_own_if_gone(walk);
    }
    feed(walk, &event);
}

static void serve_watch_or_inspection(random_walk *walk, const sent_operation *operation) {
    const child_node *child = find_child(&walk->world, operation->node);
    zkl_event event = { .kind = answer_to(operation->kind),
                        .outcome = ZKL_OUTCOME_NO_NODE,
                        .fresh = chance(walk, 90) };
    if (child != NULL) {
        event.outcome = ZKL_OUTCOME_OK;
        event.zxid = child->zxid;
        event.own_session = child->owner == walk->world.session;
        if (operation->kind == ZKL_ACTION_WATCH_OWN) {
            memcpy(walk->world.watched_own, child->name, NAME_SIZE);
        }
    }
    feed(walk, &event);
}

static bool is_write(zkl_action_kind kind) {
    return kind == ZKL_ACTION_CREATE || kind == ZKL_ACTION_DELETE || kind == ZKL_ACTION_HAND_OVER ||
           kind == ZKL_ACTION_SETTLE || kind == ZKL_ACTION_MAKE_PARENT ||
           kind == ZKL_ACTION_REMOVE_PARENT || kind == ZKL_ACTION_DOWNGRADE;
}

static void serve_parent_inspection(random_walk *walk) {
    small_world *world = &walk->world;
    world->inspected_version = world->parent_version;
    feed(walk, &(zkl_event){
                   .kind = ZKL_EVENT_PARENT_INSPECTED,
                   .outcome = world->parent ? ZKL_OUTCOME_OK : ZKL_OUTCOME_NO_NODE,
                   .zxid = world->parent_zxid,
                   .holds_data = world->parent_version > 0,
               });
}

static void serve_parent_removal(random_walk *walk, const sent_operation *operation) {
    small_world *world = &walk->world;
    zkl_event event = { .kind = ZKL_EVENT_PARENT_REMOVED, .outcome = ZKL_OUTCOME_OK };
    if (!world->parent) {
        event.outcome = ZKL_OUTCOME_NO_NODE;
    } else if (remove_parent(world, operation->version)) {
        seen.drains++;
    } else {
        event.outcome = ZKL_OUTCOME_NOT_EMPTY;
    }
    feed(walk, &event);
}

static void serve_well(random_walk *walk, const sent_operation *operation) {
    if (is_write(operation->kind)) {
        decide_late(walk);
    }
    switch (operation->kind) {
    case ZKL_ACTION_CREATE:
        serve_create(walk, operation);
        break;
    case ZKL_ACTION_LIST:
        serve_list(walk);
        break;
    case ZKL_ACTION_DELETE:
    case ZKL_ACTION_HAND_OVER:
        serve_delete(walk, operation);
        break;
    case ZKL_ACTION_WATCH:
        serve_watch(walk);
        break;
    case ZKL_ACTION_DOWNGRADE:
        serve_downgrade(walk, operation);
        break;
    case ZKL_ACTION_WATCH_OWN:
    case ZKL_ACTION_INSPECT:
        serve_watch_or_inspection(walk, operation);
        break;
    case ZKL_ACTION_INSPECT_PARENT:
        serve_parent_inspection(walk);
        break;
    case ZKL_ACTION_REMOVE_PARENT:
        serve_parent_removal(walk, operation);
        break;
    case ZKL_ACTION_MAKE_PARENT:
        make_parent(&walk->world);
        feed(walk, &(zkl_event){ .kind = ZKL_EVENT_PARENT_MADE });
        break;
    default:
        feed(walk, &(zkl_event){ .kind = ZKL_EVENT_SETTLED });
        break;
    }
}

static void serve(random_walk *walk) {
    sent_operation oldest = take_sent(&walk->world);
    zkl_event failure = { .kind = answer_to(oldest.kind), .status = ZKL_NO_PERMISSION };
    unsigned dice = walk->faults ? unit_random_below(&walk->random, 100) : 99;
    if (dice < 3) {
        failure.outcome = ZKL_OUTCOME_NOT_NOW;
    } else if (dice < 5) { /* an error that does not say what was done */
        failure.outcome = ZKL_OUTCOME_UNKNOWN;
        if (chance(walk, 50)) {
            decide_late(walk);
            apply(&walk->world, &oldest);
        }
    } else if (dice < 6) {
        failure.outcome = ZKL_OUTCOME_REFUSED;
        decide_late(walk);
    } else {
        serve_well(walk, &oldest);
        return;
    }
    feed(walk, &failure);
}

/* ---- The connection and the session --------------------------------------------------- */

/* A write that may be applied later. */
static void lose_write(random_walk *walk, const sent_operation *write) {
    small_world *world = &walk->world;
    if (write->kind == ZKL_ACTION_CREATE && !world->holds_back && chance(walk, 60)) {
        world->held_back = *write;
        world->holds_back = true;
    } else if (world->late_count < LATE_MAX) {
        world->late[world->late_count++] = *write;
    }
}

/* The first few were applied. */
static void lose_in_the_server(random_walk *walk) {
    small_world *world = &walk->world;
    size_t applied = unit_random_below(&walk->random, (unsigned)world->sent_count + 1);
    for (size_t i = 0; i < world->sent_count; i++) {
        if (i < applied) {
            if (is_write(world->sent[i].kind)) {
                decide_late(walk);
            }
            apply(world, &world->sent[i]);
        } else if (is_write(world->sent[i].kind)) {
            lose_write(walk, &world->sent[i]);
        }
    }
}

static void answer_all_sent(random_walk *walk, zkl_outcome outcome) {
    while (walk->world.sent_count > 0) {
        sent_operation oldest = take_sent(&walk->world);
        feed(walk, &(zkl_event){ .kind = answer_to(oldest.kind), .outcome = outcome });
    }
}

/* A server that has denied the session goes on answering reads for a while. */
static void deny(random_walk *walk) {
    small_world *world = &walk->world;
    feed_news(walk, ZKL_EVENT_DISCONNECTED, ZKL_OK);
    while (world->sent_count > 0 && !is_write(world->sent[0].kind) && chance(walk, 80)) {
        sent_operation oldest = take_sent(world);
        serve_well(walk, &oldest);
        seen.answers_after_a_denial++;
    }
}

static void disconnect(random_walk *walk) {
    bool is_denied = chance(walk, 30);
    if (is_denied) {
        deny(walk);
    }
    lose_in_the_server(walk);
    walk->world.connected = false;
    if (!is_denied) {
        feed_news(walk, ZKL_EVENT_DISCONNECTED, ZKL_OK);
    }
    answer_all_sent(walk, ZKL_OUTCOME_UNKNOWN);
}

/* The server goes on, and has the session again: the connection breaks. */
static void go_on(random_walk *walk) {
    small_world *world = &walk->world;
    seen.found_late += walk->request.lost.lingers ? 1U : 0U;
    world->holds_back = false;
    apply(world, &world->held_back);
    if (world->connected) {
        disconnect(walk);
    }
}

static void feed_firing(random_walk *walk, bool deleted, bool fresh) {
    unsigned before = seen.grants;
    walk->world.watched_count = 0; /* of the others the first list after it tells */
    feed(walk, &(zkl_event){ .kind = ZKL_EVENT_WATCH_FIRED,
                             .deleted = deleted,
                             .data_set = !deleted,
                             .fresh = fresh });
    seen.hand_offs += seen.grants - before;
    seen.told += deleted ? 0 : seen.grants - before;
}

static void fire_blocker_if_gone(random_walk *walk) {
    small_world *world = &walk->world;
    for (size_t i = 0; world->connected && i < world->watched_count; i++) {
        if (find_child(world, world->watched[i]) == NULL) {
            feed_firing(walk, true, chance(walk, 90));
            return;
        }
    }
}

/* One that is watched, or NULL. */
static const child_node *find_watched(random_walk *walk) {
    small_world *world = &walk->world;
    size_t count = world->watched_count;
    return count > 0 ? find_child(world,
                                  world->watched[unit_random_below(&walk->random, (unsigned)count)])
                     : NULL;
}

static void fire_if_gone(random_walk *walk) {
    fire_own_if_gone(walk);
    fire_blocker_if_gone(walk);
}

/* What happened meanwhile is told in any order. The own watch may not have been set again. */
static void reconnect(random_walk *walk) {
    walk->world.connected = true;
    if (walk->faults && chance(walk, 30)) {
        walk->world.watched_own[0] = '\0';
    }
    feed_news(walk, ZKL_EVENT_CONNECTED, ZKL_OK);
    if (chance(walk, 50)) {
        fire_blocker_if_gone(walk);
    }
    fire_if_gone(walk);
}

static void begin_session(random_walk *walk) {
    walk->world.session++;
    name_own_guid(walk->guid, (unsigned)walk->world.session);
    if (walk->is_protected) {
        name_protect(walk->guid);
    }
    name_own_prefix(walk->prefix, walk->guid, walk->mode, walk->permits, ZKL_NAMING_CURATOR);
}

static void delete_our_nodes(small_world *world) {
    for (size_t i = world->count; i > 0; i--) {
        if (world->nodes[i - 1].owner == world->session) {
            remove_child(world, &world->nodes[i - 1]);
        }
    }
}

static void expire(random_walk *walk) {
    small_world *world = &walk->world;
    delete_our_nodes(world);
    world->late_count = 0;
    world->holds_back = false;
    world->watched_count = 0;
    world->watched_own[0] = '\0';
    world->lease_runs = false;
    world->connected = false;
    world->backing_off = false;
    begin_session(walk);
    bool replies_first = chance(walk, 50);
    if (replies_first) {
        answer_all_sent(walk, ZKL_OUTCOME_SESSION_OVER);
    }
    feed(walk, &(zkl_event){ .kind = ZKL_EVENT_SESSION_ENDED, .guid = walk->guid });
    answer_all_sent(walk, ZKL_OUTCOME_SESSION_OVER);
    CHECK(walk, !walk->monitor.holds);
}

/* ---- Others --------------------------------------------------------------------------- */

static void other_joins(random_walk *walk) {
    static const char of_locks[] = "xxrrwkquj";
    static const char of_semaphores[] = "ppppppptj"; /* of two, mostly */
    const char *letters = walk->permits > 0 ? of_semaphores : of_locks;
    small_world *world = &walk->world;
    if (!world->parent || world->count >= OTHERS_MAX) {
        return;
    }
    char guid[NAME_GUID_SIZE];
    char letter = letters[unit_random_below(&walk->random, sizeof(of_locks) - 1)];
    name_other_guid(guid, (uint64_t)world->zxid);
    child_node *added = add_child(world, letter, 0);
    bool is_protected = chance(walk, 60);
    name_other(added->name, (char)(is_protected ? toupper(letter) : letter), guid, added->sequence);
}

/* Somebody who makes a node with our very name: not ours to touch. */
static void other_copies_our_name(random_walk *walk) {
    small_world *world = &walk->world;
    if (world->count < OTHERS_MAX && create(world, walk->prefix)) {
        world->nodes[world->count - 1].owner = 0;
    }
}

static void somebody_goes(random_walk *walk) {
    small_world *world = &walk->world;
    if (world->count > 0) {
        remove_child(world,
                     &world->nodes[unit_random_below(&walk->random, (unsigned)world->count)]);
    } else if (chance(walk, 20)) {
        world->parent = false; /* an empty container is cleaned up */
        world->next_sequence = 0;
    }
    fire_if_gone(walk);
}

/* A Curator writer that goes on as a reader: with its own sequence. */
static void writer_becomes_reader(small_world *world, const child_node *writer) {
    char guid[NAME_GUID_SIZE];
    child_node *reader = &world->nodes[world->count++];
    *reader = *writer;
    reader->letter = 'r';
    reader->zxid = ++world->zxid;
    name_other_guid(guid, (uint64_t)world->zxid);
    name_other(reader->name, 'r', guid, reader->sequence);
    seen.downgrades++;
}

static bool holds_alone(const small_world *world, const child_node *node) {
    for (size_t i = 0; i < world->count; i++) {
        if (&world->nodes[i] != node && is_request(&world->nodes[i]) &&
            world->nodes[i].sequence <= node->sequence) {
            return false;
        }
    }
    return node->letter == 'x' || node->letter == 'w';
}

/* Who waits for a protected one that releases is told that it was changed. Without a connection
 * that is lost. */
static void release(random_walk *walk, const child_node *node) {
    small_world *world = &walk->world;
    bool is_told = name_is_protected(node->name) && holds_alone(world, node) && chance(walk, 80);
    bool is_watched = world->watched_count == 1 && strcmp(world->watched[0], node->name) == 0;
    remove_child(world, node);
    if (is_told && is_watched && world->connected) {
        fire_own_if_gone(walk);
        feed_firing(walk, false, chance(walk, 90));
    } else {
        fire_if_gone(walk);
    }
}

/* Ours is deleted by hand only now and then. */
static void other_goes(random_walk *walk) {
    small_world *world = &walk->world;
    for (size_t i = 0; i < world->count; i++) {
        if (world->nodes[i].owner != world->session) {
            if (walk->faults && world->nodes[i].letter == 'w' && world->count < NODES_MAX &&
                chance(walk, 40)) {
                writer_becomes_reader(world, &world->nodes[i]);
            }
            release(walk, &world->nodes[i]);
            return;
        }
    }
}

/* The process stands still: the servers delete the one that it waits for, expire
 * it and let others in; then it goes on, and first reads the old news. */
static void stop_past_the_session(random_walk *walk) {
    small_world *world = &walk->world;
    const child_node *blocker = find_watched(walk);
    if (!world->connected || blocker == NULL) {
        return;
    }
    seen.stops++;
    remove_child(world, blocker);
    delete_our_nodes(world);
    other_joins(walk);
    feed_firing(walk, true, false);
    disconnect(walk);
    expire(walk);
}

/* Somebody writes data into it: its watch fires as well. */
static void watched_node_is_changed(random_walk *walk) {
    small_world *world = &walk->world;
    if (!world->connected) {
        return;
    }
    if (world->watched_own[0] != '\0' && chance(walk, 50)) {
        world->watched_own[0] = '\0';
        feed_news(walk, ZKL_EVENT_OWN_WATCH_FIRED, ZKL_OK);
    } else if (world->watched_count > 0 && !name_is_protected(world->watched[0])) {
        feed_firing(walk, false, true);
    }
}

/* An administrator deletes our node, and perhaps the one that we wait for as well. */
static void our_node_is_deleted_by_hand(random_walk *walk) {
    small_world *world = &walk->world;
    const child_node *own = find_child(world, walk->request.own.node);
    if (own == NULL || own->owner != world->session || walk->request.own.node[0] == '\0') {
        return;
    }
    remove_child(world, own);
    fire_own_if_gone(walk);
    if (find_watched(walk) != NULL && chance(walk, 50)) {
        other_joins(walk);
        const child_node *blocker = find_watched(walk);
        if (blocker != NULL) {
            remove_child(world, blocker);
        }
        fire_blocker_if_gone(walk);
    }
}

static void change_lease(random_walk *walk) {
    small_world *world = &walk->world;
    if (world->lease_runs || world->connected) {
        world->lease_runs = !world->lease_runs;
        feed_news(walk, world->lease_runs ? ZKL_EVENT_LEASE_BEGUN : ZKL_EVENT_LEASE_ENDED, ZKL_OK);
    }
}

/* ---- The walk ---------------------------------------------------------------------------- */

static bool has_ended(const random_walk *walk) {
    return walk->monitor.ends > 0;
}

static void call_off_or_release(random_walk *walk) {
    if ((walk->monitor.holds || walk->monitor.keeps_node) && chance(walk, 50)) {
        feed_news(walk, ZKL_EVENT_RELEASED, ZKL_OK);
    } else if (chance(walk, 50)) {
        feed_news(walk, ZKL_EVENT_TIMED_OUT, ZKL_OK);
    } else {
        feed_news(walk, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
}

/* No server stands still for longer than a request lingers. */
static void end_pause(random_walk *walk) {
    walk->world.backing_off = false;
    walk->world.holds_back = walk->world.holds_back && !walk->request.lost.lingers;
    feed_news(walk, ZKL_EVENT_BACKED_OFF, ZKL_OK);
}

static void rare_step(random_walk *walk) {
    unsigned dice = unit_random_below(&walk->random, 100);
    if (dice < 10) {
        stop_past_the_session(walk);
    } else if (dice < 35) {
        our_node_is_deleted_by_hand(walk);
    } else if (dice < 45) {
        watched_node_is_changed(walk);
    } else if (dice < 47) {
        somebody_writes_to_parent(&walk->world);
    } else if (dice < 70 && walk->request.options.needs_lease) {
        change_lease(walk);
    } else if (dice < 85) {
        feed_news(walk, ZKL_EVENT_DOWNGRADE, ZKL_OK);
    } else if (dice < 95) {
        feed_news(walk, ZKL_EVENT_PROBE, ZKL_OK);
    } else if (walk->monitor.granted) {
        feed_news(walk, ZKL_EVENT_HOLD_LIMIT, ZKL_OK);
    }
}

static void step(random_walk *walk) {
    small_world *world = &walk->world;
    if (chance(walk, 8)) {
        rare_step(walk);
        return;
    }
    unsigned dice = unit_random_below(&walk->random, 100);
    if (dice < 45 && world->connected && world->sent_count > 0) {
        serve(walk);
    } else if (dice < 53 && world->backing_off) {
        end_pause(walk);
    } else if (dice < 60 && (world->count < 2 || chance(walk, 40))) {
        other_joins(walk);
    } else if (dice < 72) {
        other_goes(walk);
    } else if (dice < 74) {
        somebody_goes(walk);
    } else if (dice < 75) {
        other_copies_our_name(walk);
    } else if (dice < 78 && world->late_count > 0) {
        apply_oldest_late(world, true);
    } else if (dice < 82 && world->holds_back) {
        go_on(walk);
    } else if (dice < 84 && world->connected) {
        disconnect(walk);
    } else if (dice < 96 && !world->connected) {
        reconnect(walk);
    } else if (dice < 97) {
        expire(walk);
    } else if (dice < 98) {
        call_off_or_release(walk);
    }
}

/* Without faults and without others the request must get where it wants to. */
static void heal(random_walk *walk) {
    small_world *world = &walk->world;
    walk->faults = false;
    for (unsigned i = 0; i < HEALING_STEPS && !has_ended(walk); i++) {
        if (!world->connected) {
            reconnect(walk);
        } else if (world->sent_count > 0) {
            serve(walk);
        } else if (world->holds_back && walk->request.lost.lingers && chance(walk, 50)) {
            go_on(walk);
        } else if (world->backing_off) {
            other_goes(walk); /* who waits for an empty resource pauses until it is */
            end_pause(walk);
        } else if (walk->monitor.holds || walk->monitor.keeps_node) {
            feed_news(walk, ZKL_EVENT_RELEASED, ZKL_OK);
        } else if (walk->request.options.needs_lease && !world->lease_runs) {
            change_lease(walk);
        } else {
            other_goes(walk);
        }
    }
}

static void begin(random_walk *walk, uint64_t seed) {
    static const int32_t sequences[] = { 0, 0, 7, 998, 999999990, INT32_MAX - (1 << 20) - 4, -3 };
    memset(walk, 0, sizeof(*walk));
    snprintf(walk->name, sizeof(walk->name), "seed %" PRIu64, seed);
    walk->random = unit_random_begin(seed);
    unsigned drawn = unit_random_below(&walk->random, 4);
    bool permit = drawn > ZKL_WRITE;
    walk->mode = permit ? ZKL_EXCLUSIVE : (zkl_mode)drawn;
    walk->permits = permit ? 1 + unit_random_below(&walk->random, PERMITS_MAX) : 0;
    walk->faults = true;
    walk->is_protected = chance(walk, 70);
    begin_session(walk);
    walk->world.parent = chance(walk, 70);
    walk->world.connected = chance(walk, 90);
    walk->world.next_sequence = sequences[unit_random_below(&walk->random, COUNT_OF(sequences))];
    zkl_request_options options = {
        .mode = walk->mode,
        .permits = walk->permits,
        .max_waiting = chance(walk, 15) ? 1 + unit_random_below(&walk->random, 2) : 0,
        .is_member = chance(walk, 15),
        .only_try = chance(walk, 20),
        .fail_on_session_expiry = chance(walk, 20),
        .needs_lease = chance(walk, 25),
    };
    zkl_request_session session = { .connected = walk->world.connected };
    memcpy(session.guid, walk->guid, sizeof(session.guid));
    zkl_request_begin(&walk->request, &options, &session);
    walk->monitor = monitor_begin(&options, &session);
}

static void take_walk(uint64_t seed) {
    static random_walk walk;
    begin(&walk, seed);
    if (chance(&walk, 50)) {
        other_joins(&walk); /* with one before it, it is next in line */
    }
    feed_news(&walk, ZKL_EVENT_START, ZKL_OK);
    for (unsigned i = 0; i < STEPS && !has_ended(&walk); i++) {
        step(&walk);
    }
    bool undecided = !has_ended(&walk) && walk.monitor.verdicts == 0;
    bool may_fail = walk.request.options.only_try || walk.request.options.is_member ||
                    walk.permits > 0 || walk.request.options.max_waiting > 0 ||
                    walk.world.next_sequence < 0 || walk.world.next_sequence > INT32_MAX / 2;
    heal(&walk);
    CHECK(&walk, has_ended(&walk));
    CHECK(&walk, walk.monitor.verdicts == 1);
    CHECK(&walk, !undecided || may_fail || walk.monitor.granted);
}

TEST(random_walks_keep_the_rules_and_come_to_an_end) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        take_walk(seed);
    }
    EXPECT_INT(seen.ends, SEEDS);
    EXPECT(seen.grants > SEEDS / 10);
    EXPECT(seen.failures > SEEDS / 10);
    EXPECT(seen.losses > SEEDS / 100);
    EXPECT(seen.rejoins > SEEDS / 100);
    EXPECT(seen.inspections > SEEDS / 10);
    EXPECT(seen.late_creates > SEEDS / 10);
    EXPECT(seen.watches > SEEDS / 10);
    EXPECT(seen.hand_offs > SEEDS / 500);
    EXPECT(seen.stops > SEEDS / 500);
    EXPECT(seen.kept_nodes > SEEDS / 1000);
    EXPECT(seen.deleted_while_held > SEEDS / 1000);
    EXPECT(seen.hold_limits > SEEDS / 1000);
    EXPECT(seen.downgrades > SEEDS / 10);
    EXPECT(seen.drains > 0);
    EXPECT(seen.data_written > SEEDS / 100);
    EXPECT_INT(seen.data_deleted, 0);
    EXPECT(seen.own_downgrades > SEEDS / 1000);
    EXPECT(seen.permits > SEEDS / 50);
    EXPECT(seen.full > SEEDS / 1000);
    EXPECT(seen.members > SEEDS / 50);
    EXPECT(seen.told > SEEDS / 1000);
    EXPECT(seen.releases_told > SEEDS / 500);
    EXPECT(seen.answers_after_a_denial > SEEDS / 10);
    EXPECT(seen.found_late > SEEDS / 2000);
}
