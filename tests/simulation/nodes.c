#include "nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/acl_text.h"
#include "oracle.h"
#include "recipe/node_name.h"
#include "testing/ensemble.h"
#include "testing/memory.h"
#include "testing/world.h"
#include "trace.h"
#include "traffic.h"

#define PERMIT_MARK "-permit-"
#define READ_MARK "-__READ__"
#define WRITE_MARK "-__WRIT__"

enum {
    WRITE = 1 << 1, /* permissions of an ACL */
    ADMIN = 1 << 4,
    SESSIONS_MAX = 256,
    SEQUENCE_DIGITS = 10,
    NAMED_MAX = 256,
    GUID_PART = 3 + 36 + 1, /* "_c_<uuid>-" */
    BARE_GUID_PART = 32 + 2 /* without dashes, "<uuid>__" */
};

typedef struct session_record {
    int64_t id;
    bool ended;
    bool by_hand;         /* it was ended so */
    int64_t ending_reign; /* of the leader that was asked to end it by hand; -1: none was */
    bool told_expired;
    int64_t told_expired_us;
    uint32_t process;
} session_record;

static struct {
    node_record **all;
    size_t count;
    size_t capacity;
    session_record sessions[SESSIONS_MAX];
    size_t session_count;
    void (*on_step)(void);
    bool sequences_end;          /* the resources begin with a sequence that is almost used up */
    int64_t moved_us;            /* the last moment at which a client was told so; -1: none */
    uint32_t parents_removed_by; /* a process; 0: nobody removes them */
    char *named[NAMED_MAX];      /* paths of nodes that it may break, and ask for */
    bool may_break[NAMED_MAX];
    size_t named_count;
} nodes;

static node_record *find(const char *path);

/* ---- Names, read independently of the library ------------------------------------------ */

typedef struct rank {
    bool is_request;
    bool reads;
    unsigned permits; /* of its semaphore; 0: it is for a lock */
    int64_t sequence;
    zkl_naming naming;
} rank;

static const struct {
    const char *mark;
    bool reads;
    zkl_naming naming;
} marks[] = {
    { "-lock-", false, ZKL_NAMING_CURATOR },   { READ_MARK, true, ZKL_NAMING_CURATOR },
    { WRITE_MARK, false, ZKL_NAMING_CURATOR }, { "__lock__", false, ZKL_NAMING_KAZOO },
    { "__rlock__", true, ZKL_NAMING_KAZOO },   { "-latch-", false, ZKL_NAMING_LEADER_LATCH },
};

static bool read_sequence(const char *text, int64_t *sequence) {
    char *end = NULL;
    *sequence = strtoll(text, &end, 10);
    return end != text && *end == '\0' && strlen(text) >= SEQUENCE_DIGITS;
}

/* "-permit-<permits>-<sequence>" */
static bool read_permit(const char *name, rank *its) {
    const char *mark = strstr(name, PERMIT_MARK);
    char *end = NULL;
    if (mark == NULL) {
        return false;
    }
    its->permits = (unsigned)strtoul(mark + strlen(PERMIT_MARK), &end, 10);
    its->is_request = *end == '-' && its->permits > 0 && read_sequence(end + 1, &its->sequence);
    return its->is_request;
}

static rank rank_of(const char *name) {
    rank its = { .is_request = false };
    if (read_permit(name, &its)) {
        return its;
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(name, marks[i].mark);
        if (mark != NULL && read_sequence(mark + strlen(marks[i].mark), &its.sequence)) {
            return (rank){ true, marks[i].reads, 0, its.sequence, marks[i].naming };
        }
    }
    size_t length = strlen(name);
    its.is_request = length >= SEQUENCE_DIGITS &&
                     strspn(name + length - SEQUENCE_DIGITS, "0123456789") == SEQUENCE_DIGITS &&
                     read_sequence(name + length - SEQUENCE_DIGITS, &its.sequence);
    return its;
}

static bool is_before(const node_record *one, rank one_rank, const node_record *other,
                      rank other_rank) {
    if (one_rank.sequence != other_rank.sequence) {
        return one_rank.sequence < other_rank.sequence;
    }
    if (one_rank.reads != other_rank.reads) {
        return other_rank.reads;
    }
    return strcmp(one->name, other->name) < 0;
}

static bool are_siblings(const node_record *one, const node_record *other) {
    size_t length = (size_t)(one->name - one->path);
    return length == (size_t)(other->name - other->path) &&
           strncmp(one->path, other->path, length) == 0;
}

/* The length of "_c_<uuid>-", or of "<uuid>__" without dashes; 0: it has none. */
static size_t guid_part(const char *name) {
    if (strncmp(name, "_c_", 3) == 0) {
        return strlen(name) > GUID_PART ? GUID_PART : 0;
    }
    bool is_bare = strspn(name, "0123456789abcdef") == BARE_GUID_PART - 2 &&
                   strncmp(name + BARE_GUID_PART - 2, "__", 2) == 0;
    return is_bare ? BARE_GUID_PART : 0;
}

/* Compares the digits of a name's GUID with those of another. */
static bool begins_with_guid(const char *name, const char *guid) {
    const char *at = name + (strncmp(name, "_c_", 3) == 0 ? 3 : 0);
    bool is_bare = at == name;
    for (; guid_part(name) > 0 && *guid != '\0'; guid++) {
        if (is_bare && *guid == '-') {
            continue;
        }
        if (*at++ != *guid) {
            return false;
        }
    }
    return guid_part(name) > 0;
}

/* The reader's node of who upgrades is not in the way of the writer's. */
static bool is_of_same_owner(const node_record *node, const node_record *other) {
    return other->upgraded_by[0] != '\0' && begins_with_guid(node->name, other->upgraded_by);
}

/* Of permits, too, those that are no reason to wait. */
bool nodes_is_behind(const node_record *node, const node_record *other) {
    rank its = rank_of(node->name);
    rank others = rank_of(other->name);
    return other != node && are_siblings(node, other) && others.is_request &&
           !(its.reads && others.reads) && is_before(other, others, node, its);
}

static bool is_in_the_way(const node_record *node, const node_record *other) {
    return other->alive && nodes_is_behind(node, other) && !is_of_same_owner(node, other);
}

static const node_record *nearest_in_the_way(const node_record *node) {
    const node_record *nearest = NULL;
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        if (is_in_the_way(node, other) &&
            (nearest == NULL ||
             is_before(nearest, rank_of(nearest->name), other, rank_of(other->name)))) {
            nearest = other;
        }
    }
    return nearest;
}

/* Those between the two, or, without another, all that are in its way. */
static size_t count_in_the_way(const node_record *node, const node_record *after) {
    size_t count = 0;
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        bool counts =
            after == NULL || is_before(after, rank_of(after->name), other, rank_of(other->name));
        count += counts && is_in_the_way(node, other) ? 1 : 0;
    }
    return count;
}

/* Of a request that shares the resource only with those that use it as it does: one that is before
 * it and does not, even if both read. */
static const node_record *unlike_in_the_way(const node_record *node) {
    rank its = rank_of(node->name);
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        rank others = rank_of(other->name);
        bool is_earlier = other != node && other->alive && others.is_request &&
                          are_siblings(node, other) && is_before(other, others, node, its) &&
                          !is_of_same_owner(node, other);
        if (is_earlier && (others.permits != its.permits || others.naming != its.naming)) {
            return other;
        }
    }
    return NULL;
}

/* A permit of n: n earlier requests, or one that is not for as many. */
static const node_record *blocker_of(const node_record *node) {
    rank its = rank_of(node->name);
    unsigned permits = its.permits;
    bool is_particular = permits > 0 || (its.naming != ZKL_NAMING_CURATOR && !node->foreign);
    const node_record *unlike = is_particular ? unlike_in_the_way(node) : NULL;
    if (unlike != NULL) {
        return unlike;
    }
    return permits > 0 && count_in_the_way(node, NULL) < permits ? NULL : nearest_in_the_way(node);
}

bool nodes_watches(const node_record *node, const node_record *other) {
    unsigned permits = rank_of(node->name).permits;
    if (permits == 0) {
        return nearest_in_the_way(node) == other;
    }
    return is_in_the_way(node, other) && count_in_the_way(node, other) < permits;
}

const char *nodes_blocker(const node_record *node) {
    const node_record *blocker = blocker_of(node);
    return blocker != NULL ? blocker->name : NULL;
}

static bool is_replaced_in_queue(const node_record *node) {
    for (size_t i = 0; i < nodes.count; i++) {
        if (nodes.all[i]->replaces && are_siblings(node, nodes.all[i])) {
            return true;
        }
    }
    return false;
}

const char *nodes_wrongly_passed(const node_record *node) {
    const char *blocker = node->alive ? nodes_blocker(node) : node->blocked_by;
    bool is_any = blocker != NULL && blocker[0] != '\0';
    return is_any && !is_replaced_in_queue(node) ? blocker : NULL;
}

unsigned nodes_permits(const node_record *node) {
    return rank_of(node->name).permits;
}

zkl_naming nodes_naming(const node_record *node) {
    return rank_of(node->name).naming;
}

static bool have_same_guid(const node_record *one, const node_record *other) {
    size_t length = guid_part(one->name);
    return length > 0 && strncmp(one->name, other->name, length) == 0;
}

/* Permits of another semaphore, or of one where there is none, are refused. */
bool nodes_comes_behind(const node_record *holder, const node_record *other) {
    rank its = rank_of(holder->name);
    rank others = rank_of(other->name);
    bool refused = others.permits > 0 && others.permits != its.permits;
    bool twins = its.sequence == others.sequence && have_same_guid(holder, other);
    return other != holder && are_siblings(holder, other) && others.is_request && !refused &&
           !twins && !(its.reads && others.reads) && is_before(holder, its, other, others) &&
           !is_of_same_owner(other, holder);
}

const node_record *nodes_waiter(const node_record *holder) {
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        if (other->alive && nodes_comes_behind(holder, other) && !have_same_guid(holder, other) &&
            nodes_blocker(other) != NULL) {
            return other;
        }
    }
    return NULL;
}

/* Where one of them was deleted by hand, or could not be used, the request has joined again. */
const node_record *nodes_given_up_for(const node_record *node) {
    const node_record *given_up = NULL;
    for (size_t i = 0; i < nodes.count && nodes.all[i] != node; i++) {
        const node_record *other = nodes.all[i];
        if (other->owner != node->owner || !have_same_guid(node, other)) {
            continue;
        }
        if (other->by_hand || nodes_is_near_the_end(other)) {
            return NULL;
        }
        given_up = other->alive ? given_up : other;
    }
    return given_up;
}

const node_record *nodes_first(const char *parent) {
    const node_record *first = NULL;
    rank firsts = { .is_request = false };
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *node = nodes.all[i];
        rank its = { .is_request = false };
        if (node->alive && strncmp(node->path, parent, strlen(parent)) == 0) {
            its = rank_of(node->name);
        }
        if (its.is_request && (first == NULL || is_before(node, its, first, firsts))) {
            first = node;
            firsts = its;
        }
    }
    return first;
}

/* What went in the same moment is given the benefit of the doubt. */
static bool outlived(const node_record *node, const node_record *other) {
    int64_t until_us = other->alive ? INT64_MAX : other->gone_us;
    return node->made_us <= until_us && (node->alive || node->gone_us > until_us);
}

bool nodes_was_first(const node_record *node) {
    rank its = rank_of(node->name);
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        rank others = rank_of(other->name);
        bool is_rival = other != node && others.is_request && !other->replaces &&
                        are_siblings(node, other) && is_before(other, others, node, its);
        if (is_rival && (outlived(other, node) || (other->alive && node->alive))) {
            return false;
        }
    }
    return true;
}

void nodes_upgrades(const node_record *reader, const char *guid) {
    node_record *node = find(reader->path);
    if (node != NULL) {
        snprintf(node->upgraded_by, sizeof(node->upgraded_by), "%s", guid);
    }
}

/* A copy that was put in its place behind the last look at it goes in its stead: nobody can tell.
 */
static const node_record *what_went(const node_record *writer, int64_t unseen_max_us) {
    const node_record *latest = nodes_find_latest(writer->path);
    int64_t stood_us = latest->gone_us - latest->made_us;
    return latest->replaces && stood_us <= unseen_max_us ? latest : writer;
}

/* In one transaction, so it was made when the writer's was deleted. */
const node_record *nodes_downgraded(const node_record *writer, int64_t unseen_max_us) {
    const char *mark = strstr(writer->name, WRITE_MARK);
    size_t before = mark != NULL ? (size_t)(mark - writer->path) : 0;
    const node_record *gone = what_went(writer, unseen_max_us);
    for (size_t i = 0; mark != NULL && i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        if (strncmp(other->path, writer->path, before) == 0 &&
            strncmp(other->path + before, READ_MARK, strlen(READ_MARK)) == 0 &&
            strcmp(other->path + before + strlen(READ_MARK), mark + strlen(WRITE_MARK)) == 0 &&
            other->owner == writer->owner && other->made_us == gone->gone_us) {
            return other;
        }
    }
    return NULL;
}

bool nodes_conflicts(const node_record *node, bool reads) {
    rank its = rank_of(node->name);
    return its.is_request && !(its.reads && reads);
}

bool nodes_is_near_the_end(const node_record *node) {
    return rank_of(node->name).sequence >= INT32_MAX - (1 << 20);
}

const node_record *nodes_at(size_t number) {
    return number < nodes.count ? nodes.all[number] : NULL;
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static session_record *session_of(int64_t id) {
    for (size_t i = 0; i < nodes.session_count; i++) {
        if (nodes.sessions[i].id == id) {
            return &nodes.sessions[i];
        }
    }
    if (nodes.session_count == SESSIONS_MAX) {
        zkl_testing_fail("a run with more than %d sessions", (int)SESSIONS_MAX);
    }
    session_record *session = &nodes.sessions[nodes.session_count++];
    *session = (session_record){ .id = id, .ending_reign = -1 };
    return session;
}

bool nodes_session_ended(int64_t session_id) {
    const session_record *session = session_of(session_id);
    return session->ended && !session->by_hand;
}

bool nodes_session_told_expired(int64_t session_id) {
    return session_of(session_id)->told_expired;
}

int64_t nodes_session_told_expired_us(int64_t session_id) {
    const session_record *session = session_of(session_id);
    return session->told_expired ? session->told_expired_us : INT64_MAX;
}

uint32_t nodes_session_process(int64_t session_id) {
    return session_of(session_id)->process;
}

/* A zxid's upper half counts the leaders. What one had not committed, the next does not know. */
static int64_t reign_of(int64_t zxid) {
    return zxid >> 32;
}

void nodes_ends_by_hand(int64_t session_id) {
    int64_t zxid = zkl_ensemble_committed_zxid(zkl_ensemble_current());
    session_of(session_id)->ending_reign = reign_of(zxid);
}

static void end_session(const zkl_tree_transaction *transaction) {
    session_record *session = session_of(transaction->session_id);
    if (session->ended) {
        return;
    }
    session->ended = true;
    session->by_hand = session->ending_reign == reign_of(transaction->zxid);
}

/* ---- Nodes --------------------------------------------------------------------------------- */

static node_record *find(const char *path) {
    for (size_t i = nodes.count; i > 0; i--) {
        if (strcmp(nodes.all[i - 1]->path, path) == 0) {
            return nodes.all[i - 1];
        }
    }
    return NULL;
}

const node_record *nodes_find(const char *path) {
    const node_record *latest = find(path);
    for (size_t i = nodes.count; latest != NULL && latest->foreign && i > 0; i--) {
        if (!nodes.all[i - 1]->foreign && strcmp(nodes.all[i - 1]->path, path) == 0) {
            return nodes.all[i - 1];
        }
    }
    return latest;
}

const node_record *nodes_find_latest(const char *path) {
    return find(path);
}

/* Foreign nodes belong to sessions that no client of ours has opened. */
static bool is_ours(int64_t owner) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        if (session_id == owner) {
            return true;
        }
    }
    return false;
}

/* A UUID is fresh for each request and session. */
static void judge_guid(const node_record *node) {
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *other = nodes.all[i];
        if (!other->foreign && other->owner != 0 && other->owner != node->owner &&
            have_same_guid(node, other)) {
            oracle_violated("node %s has the UUID of %s, which was of another session", node->name,
                            other->name);
        }
    }
}

/* What the entries of an ACL for others than a session's own identity grant, of writing data and
 * setting the ACL; `own`: what is granted to that. */
static int granted_to_others(const char *acl, int *own) {
    int others = 0;
    *own = 0;
    zkl_acl_entry entry;
    for (const char *next = acl; zkl_acl_next(&next, &entry);) {
        bool is_own = strncmp(entry.id, "zklock:", strlen("zklock:")) == 0;
        *(is_own ? own : &others) |= entry.permissions & (WRITE | ADMIN);
    }
    return others;
}

/* A name says that a node is protected if it is; no parent knows the identity of a session. */
static void judge_protection(const node_record *node, const char *acl) {
    int own = 0;
    int others = acl != NULL ? granted_to_others(acl, &own) : WRITE | ADMIN;
    bool is_protected = others == 0 && own == (WRITE | ADMIN);
    bool is_known = acl != NULL && strstr(acl, "zklock:") != NULL;
    if (zkl_node_name_is_protected(node->name) ? !is_protected : is_known) {
        oracle_violated("the ACL of %s is %s", node->path, acl != NULL ? acl : "open");
    }
}

static void on_created(const zkl_node *made) {
    zkl_node_stat stat = zkl_node_get_stat(made);
    node_record *node = zkl_testing_allocate(sizeof(*node));
    node->path = zkl_testing_copy_text(zkl_node_path(made));
    node->name = strrchr(node->path, '/') + 1;
    node->czxid = stat.czxid;
    node->owner = stat.ephemeral_owner;
    node->alive = true;
    node->made_us = zkl_world_now_us();
    node->revoked_us = -1;
    node->foreign = node->owner != 0 && !is_ours(node->owner);
    node->replaces = node->foreign && find(node->path) != NULL;
    if (node->owner != 0 && !node->foreign) {
        judge_guid(node);
    }
    if (!node->foreign) {
        judge_protection(node, zkl_node_acl(made));
    }
    if (nodes.count == nodes.capacity) {
        nodes.capacity = nodes.capacity == 0 ? 64 : 2 * nodes.capacity;
        nodes.all = zkl_testing_reallocate(nodes.all, nodes.capacity * sizeof(node_record *));
    }
    nodes.all[nodes.count++] = node;
    node->had_to_wait = nodes_blocker(node) != NULL;
}

/* Who is before it is found out while all that one transaction deletes is there. */
static void note_blocker(const zkl_node *gone) {
    node_record *node = find(zkl_node_path(gone));
    if (node != NULL && node->alive) {
        const char *blocker = nodes_blocker(node);
        node->blocked_by = zkl_testing_copy_text(blocker != NULL ? blocker : "");
    }
}

static void on_deleted(const zkl_node *gone) {
    node_record *node = find(zkl_node_path(gone));
    if (node != NULL) {
        node->alive = false;
        node->gone_us = zkl_world_now_us();
    }
}

/* Whoever finds a resource empty whose sequence was used up deletes it, and perhaps the one
 * that others have made in its place; that it is empty the servers see to. */
static bool may_be_used_up(const node_record *node) {
    return node->owner == 0 && nodes.sequences_end;
}

void nodes_let_remove_parents(uint32_t process) {
    nodes.parents_removed_by = process;
}

static void let(const char *path, bool may_break) {
    if (nodes.named_count == NAMED_MAX) {
        zkl_testing_fail("a run with more than %d nodes to break", (int)NAMED_MAX);
    }
    nodes.named[nodes.named_count] = zkl_testing_copy_text(path);
    nodes.may_break[nodes.named_count++] = may_break;
}

void nodes_let_break(const char *path) {
    let(path, true);
}

void nodes_let_revoke(const char *path) {
    let(path, false);
}

/* Whoever acts on the nodes of others acts on those that were named, and in no other way. */
static bool is_named(int64_t session_id, const node_record *node, bool to_break) {
    if (nodes.named_count == 0 || session_of(session_id)->process != nodes.parents_removed_by) {
        return false;
    }
    for (size_t i = 0; i < nodes.named_count; i++) {
        if (nodes.may_break[i] == to_break && strcmp(nodes.named[i], node->path) == 0) {
            return true;
        }
    }
    return false;
}

static bool deletes(const zkl_tree_transaction *transaction, const zkl_node *node) {
    for (size_t i = 0; i < transaction->change_count; i++) {
        const zkl_change *change = &transaction->changes[i];
        if (change->kind == ZKL_CHANGE_DELETED && change->node == node) {
            return true;
        }
    }
    return false;
}

/* By the version of the UUID in "_c_<uuid>-...", or in "<uuid>__...". */
static bool is_protected(const node_record *node) {
    enum { VERSION_OFFSET = 17, BARE_VERSION_OFFSET = 12 };
    bool is_bare = guid_part(node->name) == BARE_GUID_PART;
    return guid_part(node->name) > 0 &&
           node->name[is_bare ? BARE_VERSION_OFFSET : VERSION_OFFSET] == '8';
}

/* Whoever waits for such a node is told that its holder has released it, and asks no more. */
static void judge_hand_over(const node_record *node) {
    if (!is_protected(node) || nodes_permits(node) != 0 || !nodes_conflicts(node, true) ||
        !nodes_was_first(node)) {
        oracle_violated("the node %s was handed over, and %s was before it", node->name,
                        node->blocked_by[0] != '\0' ? node->blocked_by : "perhaps somebody");
    }
}

/* Somebody has made it in the place of a node of this session, which may not have heard of it: a
 * deletion knows no more than a name, and a release that says so. */
static bool has_replaced(const node_record *node, int64_t session_id) {
    for (size_t i = 0; node->foreign && i < nodes.count; i++) {
        if (nodes.all[i]->owner == session_id && strcmp(nodes.all[i]->path, node->path) == 0) {
            return true;
        }
    }
    return false;
}

/* Nobody sets the data of a node but who asks for it, and its holder with its release; and of those
 * for writes under a lock's guard whoever holds that. */
static void note_set(const zkl_tree_transaction *transaction, const zkl_node *set) {
    static const char guarded[] = "/guarded-";
    if (strncmp(zkl_node_path(set), guarded, strlen(guarded)) == 0) {
        oracle_guarded_applied(zkl_node_data(set));
        return;
    }
    node_record *node = find(zkl_node_path(set));
    if (node == NULL || node->owner == 0 || transaction->session_id == 0 ||
        has_replaced(node, transaction->session_id)) {
        return;
    }
    if (node->owner == transaction->session_id && deletes(transaction, set)) {
        judge_hand_over(node);
        return;
    }
    if (!is_named(transaction->session_id, node, false)) {
        oracle_violated("session %" PRIx64 " has set the data of %s",
                        (uint64_t)transaction->session_id, node->name);
    }
    node->revoked_us = node->revocations == 0 ? zkl_world_now_us() : node->revoked_us;
    node->revocations++;
}

static bool may_remove(int64_t session_id, const node_record *node) {
    return nodes.parents_removed_by != 0 && node->owner == 0 &&
           session_of(session_id)->process == nodes.parents_removed_by;
}

/* Nobody deletes a node of another session; nor that of a holder who has not left. */
static void judge_deletion(const zkl_tree_transaction *transaction, const zkl_node *gone) {
    const node_record *node = find(zkl_node_path(gone));
    bool is_meant = transaction->kind == ZKL_WRITE_DELETE || transaction->kind == ZKL_WRITE_MULTI;
    if (node == NULL || !is_meant || !is_ours(transaction->session_id)) {
        return;
    }
    if (may_be_used_up(node) || may_remove(transaction->session_id, node) ||
        is_named(transaction->session_id, node, true) ||
        has_replaced(node, transaction->session_id)) {
        return;
    }
    if (node->owner != transaction->session_id) {
        oracle_violated("session %" PRIx64 " has deleted %s, which is not its own",
                        (uint64_t)transaction->session_id, node->name);
    }
    oracle_deleted(node);
}

/* By the hand of somebody who has no session, or with a session that was ended so. */
static void note_hand(const zkl_tree_transaction *transaction, const zkl_node *gone) {
    node_record *node = find(zkl_node_path(gone));
    if (node != NULL) {
        bool closes = transaction->kind == ZKL_WRITE_CLOSE_SESSION;
        node->by_hand =
            closes ? session_of(transaction->session_id)->by_hand
                   : transaction->session_id == 0 || is_named(transaction->session_id, node, true);
    }
}

/* ---- The servers' news ------------------------------------------------------------------------
 */

static void trace_transaction(const zkl_tree_transaction *transaction) {
    if (transaction->kind == ZKL_WRITE_CREATE_SESSION) {
        trace_event("servers", "zxid %" PRId64 ": session %" PRIx64 " begins", transaction->zxid,
                    (uint64_t)transaction->session_id);
    } else if (transaction->kind == ZKL_WRITE_CLOSE_SESSION) {
        trace_event("servers", "zxid %" PRId64 ": session %" PRIx64 " ends", transaction->zxid,
                    (uint64_t)transaction->session_id);
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        const zkl_change *change = &transaction->changes[i];
        trace_event("servers", "zxid %" PRId64 ": %s %s", transaction->zxid,
                    zkl_change_kind_name(change->kind), zkl_node_path(change->node));
    }
}

static void on_committed(void *arg, const zkl_tree_transaction *transaction) {
    (void)arg;
    trace_transaction(transaction);
    if (transaction->kind == ZKL_WRITE_CLOSE_SESSION) {
        end_session(transaction);
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        if (transaction->changes[i].kind == ZKL_CHANGE_DELETED) {
            note_hand(transaction, transaction->changes[i].node);
            judge_deletion(transaction, transaction->changes[i].node);
            note_blocker(transaction->changes[i].node);
            traffic_deletes(find(zkl_node_path(transaction->changes[i].node)));
        }
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        const zkl_change *change = &transaction->changes[i];
        if (change->kind == ZKL_CHANGE_CREATED) {
            on_created(change->node);
        } else if (change->kind == ZKL_CHANGE_SET) {
            note_set(transaction, change->node);
        } else if (change->kind == ZKL_CHANGE_DELETED) {
            on_deleted(change->node);
        }
    }
    nodes.on_step();
}

static void on_delivered(void *arg, const zkl_delivery *delivery) {
    (void)arg;
    static const char *const kinds[] = {
        [ZKL_DELIVERY_REPLY] = "reply",
        [ZKL_DELIVERY_WATCH] = "watch",
        [ZKL_DELIVERY_CONNECTING] = "connecting",
        [ZKL_DELIVERY_CONNECTED] = "connected",
        [ZKL_DELIVERY_EXPIRED] = "expired",
        [ZKL_DELIVERY_AUTH_FAILED] = "authentication failed",
    };
    static const char *const calls[ZKL_CALL_KINDS] = {
        [ZKL_CALL_CREATE] = "create",
        [ZKL_CALL_DELETE] = "delete",
        [ZKL_CALL_MULTI] = "multi",
        [ZKL_CALL_SET] = "set",
        [ZKL_CALL_SET_ACL] = "set ACL",
        [ZKL_CALL_LIST] = "list",
        [ZKL_CALL_EXISTS] = "exists",
        [ZKL_CALL_GET] = "get",
        [ZKL_CALL_GET_ACL] = "get ACL",
        [ZKL_CALL_REMOVE_WATCHES] = "remove watches",
        [ZKL_CALL_SET_WATCHES] = "set watches",
        [ZKL_CALL_AUTH] = "auth",
        [ZKL_CALL_PING] = "ping",
        [ZKL_CALL_CONNECT] = "connect",
        [ZKL_CALL_CLOSE] = "close",
    };
    if (delivery->kind == ZKL_DELIVERY_REPLY) {
        trace_event("client", "%u: reply to %s: %s%s%s (server %u at zxid %" PRId64 ")",
                    delivery->process, calls[delivery->call],
                    delivery->lost ? "lost" : zkl_server_error_name(delivery->error),
                    delivery->path != NULL ? " " : "", delivery->path != NULL ? delivery->path : "",
                    delivery->server, delivery->applied_zxid);
    } else {
        trace_event("client", "%u: %s %s%s", delivery->process, kinds[delivery->kind],
                    delivery->path != NULL ? delivery->path : "",
                    delivery->kind == ZKL_DELIVERY_WATCH && delivery->deleted ? " is deleted" : "");
    }
    if (delivery->kind == ZKL_DELIVERY_CONNECTED) {
        session_of(delivery->session_id)->process = delivery->process;
    }
    if (delivery->kind == ZKL_DELIVERY_EXPIRED) {
        session_of(delivery->session_id)->told_expired = true;
        session_of(delivery->session_id)->told_expired_us = zkl_world_now_us();
    }
    traffic_delivered(delivery);
    if (delivery->kind == ZKL_DELIVERY_REPLY && delivery->error == ZKL_SERVER_ERROR_SESSION_MOVED) {
        nodes.moved_us = zkl_world_now_us();
    }
    nodes.on_step();
}

bool nodes_session_moved_since(int64_t us) {
    return nodes.moved_us >= us;
}

zkl_ensemble_hooks nodes_hooks(void) {
    return (zkl_ensemble_hooks){ .committed = on_committed, .delivered = on_delivered };
}

/* ---- The end ------------------------------------------------------------------------------- */

bool nodes_are_gone(void) {
    for (size_t i = 0; i < nodes.count; i++) {
        if (nodes.all[i]->alive && is_ours(nodes.all[i]->owner)) {
            return false;
        }
    }
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        if (zkl_ensemble_watch_count(ensemble, session_id) > 0) {
            return false;
        }
    }
    return true;
}

void nodes_judge_quiescence(void) {
    for (size_t i = 0; i < nodes.count; i++) {
        const node_record *node = nodes.all[i];
        if (node->alive && is_ours(node->owner)) {
            oracle_violated("node %s is left, and nobody asks for its lock", node->path);
        }
    }
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        size_t watches = zkl_ensemble_watch_count(ensemble, session_id);
        if (watches > 0) {
            oracle_violated("session %" PRIx64 " has %zu watches left, and no requests",
                            (uint64_t)session_id, watches);
        }
    }
}

void nodes_begin(void (*on_step)(void), bool sequences_end) {
    memset(&nodes, 0, sizeof(nodes));
    nodes.on_step = on_step;
    nodes.sequences_end = sequences_end;
    nodes.moved_us = -1;
}

void nodes_end(void) {
    for (size_t i = 0; i < nodes.count; i++) {
        zkl_testing_free(nodes.all[i]->path);
        zkl_testing_free(nodes.all[i]->blocked_by);
        zkl_testing_free(nodes.all[i]);
    }
    for (size_t i = 0; i < nodes.named_count; i++) {
        zkl_testing_free(nodes.named[i]);
    }
    zkl_testing_free(nodes.all);
    memset(&nodes, 0, sizeof(nodes));
}
