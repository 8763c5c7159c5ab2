#include "peer.h"

#include "basics.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { SESSIONS_MAX = 1024, NAME_SIZE = 128, LINE_SIZE = 1024, THREAD_STACK = 256 * 1024 };

static const struct peer *peer;
bool peer_lends;
static void *sessions[SESSIONS_MAX];
static int session_count;

static int64_t cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* ---- Words of a command: KEY=VALUE ------------------------------------------------------------
 */

static const char *find_word(const char *line, const char *key) {
    size_t length = strlen(key);
    for (const char *at = strchr(line, ' '); at != NULL; at = strchr(at, ' ')) {
        at++;
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            return at + length + 1;
        }
    }
    return NULL;
}

static int number_of(const char *line, const char *key, int otherwise) {
    const char *value = find_word(line, key);
    return value == NULL ? otherwise : (int)strtol(value, NULL, 10);
}

static void text_of(const char *line, const char *key, char *text, size_t size) {
    const char *value = find_word(line, key);
    if (value == NULL) {
        fail("no %s in: %s", key, line);
    }
    (void)snprintf(text, size, "%.*s", (int)strcspn(value, " \n"), value);
}

/* ---- run: threads that acquire and release -----------------------------------------------------
 */

/* Of 100 requests of a mixed run that many write. */
enum { WRITES_OF_100 = 10 };

struct run {
    char resource[NAME_SIZE];
    int resources;
    int permits;
    int count;
    int milliseconds;
    int64_t end_ns;
    bool mixed;
    bool handed_on; /* from one holder to the next: one resource, one holder at a time */
    pthread_barrier_t start;
    atomic_int taken;            /* turns: each is one acquire and release */
    atomic_llong released_ns;    /* when the holder's release began; 0: not yet */
    atomic_llong granted_ns;     /* the last grant of all */
    atomic_llong longest_gap_ns; /* between two grants */
};

struct contention {
    struct run *run;
    pthread_t thread;
    void *session;
    void *contender;
    uint32_t chance;
    int64_t *pairs_ns;
    int64_t *hand_offs_ns;
    int pairs;
    int hand_offs;
};

/* Marsaglia's xorshift: each thread has its own. */
static uint32_t draw(struct contention *self, uint32_t below) {
    self->chance ^= self->chance << 13;
    self->chance ^= self->chance >> 17;
    self->chance ^= self->chance << 5;
    return self->chance % below;
}

static void open_contender(struct contention *self) {
    char name[NAME_SIZE + 16];
    const struct run *run = self->run;
    if (run->resources == 1) {
        (void)snprintf(name, sizeof name, "%s", run->resource);
    } else {
        (void)snprintf(name, sizeof name, "%s-%" PRIu32, run->resource,
                       draw(self, (uint32_t)run->resources));
    }
    self->contender = peer->contender_open(self->session, name, run->permits);
}

static enum peer_mode choose_mode(struct contention *self) {
    if (!self->run->mixed) {
        return PEER_EXCLUSIVE;
    }
    return draw(self, 100) < WRITES_OF_100 ? PEER_WRITE : PEER_READ;
}

static void note_gap(struct run *run, int64_t granted_ns) {
    int64_t gap_ns = granted_ns - atomic_exchange(&run->granted_ns, granted_ns);
    long long longest = atomic_load(&run->longest_gap_ns);
    while (gap_ns > longest &&
           !atomic_compare_exchange_weak(&run->longest_gap_ns, &longest, gap_ns)) {
        /* Another thread has noted one. */
    }
}

static void take_turn(struct contention *self) {
    struct run *run = self->run;
    if (run->resources > 1) {
        open_contender(self);
    }
    int64_t begin_ns = now_ns();
    peer->acquire(self->contender, choose_mode(self));
    int64_t granted_ns = now_ns();
    long long released_ns = atomic_load(&run->released_ns);
    /* What was released before this thread asked was not handed to it. */
    if (run->handed_on && released_ns > begin_ns) {
        self->hand_offs_ns[self->hand_offs++] = granted_ns - released_ns;
    }
    note_gap(run, granted_ns);
    atomic_store(&run->released_ns, now_ns());
    peer->release(self->contender);
    self->pairs_ns[self->pairs++] = now_ns() - begin_ns;
    if (run->resources > 1) {
        peer->contender_close(self->contender);
    }
}

/* There is one turn, however late the threads are. */
static bool may_take_turn(struct run *run) {
    int turn = atomic_fetch_add(&run->taken, 1);
    return turn < run->count && (turn == 0 || now_ns() < run->end_ns);
}

static void *contend(void *arg) {
    struct contention *self = arg;
    struct run *run = self->run;
    if (run->resources == 1) {
        open_contender(self);
    }
    (void)pthread_barrier_wait(&run->start);
    while (may_take_turn(run)) {
        take_turn(self);
    }
    (void)pthread_barrier_wait(&run->start);
    if (run->resources == 1) {
        peer->contender_close(self->contender);
    }
    return NULL;
}

static void start_thread(struct contention *self) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    if (pthread_create(&self->thread, &attributes, contend, self) != 0) {
        fail("no more threads");
    }
    pthread_attr_destroy(&attributes);
}

static void print_us(const char *key, const struct contention *all, int threads, bool hand_offs) {
    const char *separator = "";
    printf("\"%s\":[", key);
    for (int i = 0; i < threads; i++) {
        const int64_t *samples = hand_offs ? all[i].hand_offs_ns : all[i].pairs_ns;
        int count = hand_offs ? all[i].hand_offs : all[i].pairs;
        for (int k = 0; k < count; k++) {
            printf("%s%.3f", separator, (double)samples[k] / 1e3);
            separator = ",";
        }
    }
    printf("]");
}

static int count_grants(const struct contention *all, int threads) {
    int grants = 0;
    for (int i = 0; i < threads; i++) {
        grants += all[i].pairs;
    }
    return grants;
}

static void contend_and_tell(struct run *run, struct contention *all, int threads) {
    for (int i = 0; i < threads; i++) {
        struct contention *self = &all[i];
        self->run = run;
        self->session = sessions[i % session_count];
        self->chance = 2463534242U + 7919U * (uint32_t)i;
        self->pairs_ns = allocate((uint64_t)run->count, sizeof *self->pairs_ns);
        self->hand_offs_ns = allocate((uint64_t)run->count, sizeof *self->hand_offs_ns);
        start_thread(self);
    }
    int64_t used_ns = cpu_ns();
    int64_t began_ns = now_ns();
    run->end_ns = began_ns + 1000000LL * run->milliseconds;
    atomic_store(&run->granted_ns, began_ns);
    (void)pthread_barrier_wait(&run->start);
    (void)pthread_barrier_wait(&run->start);
    double seconds = (double)(now_ns() - began_ns) / 1e9;
    double cpu_seconds = (double)(cpu_ns() - used_ns) / 1e9;
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i].thread, NULL);
    }
    printf("{\"grants\":%d,\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"longest_gap_ms\":%.3f,",
           count_grants(all, threads), seconds, cpu_seconds,
           (double)atomic_load(&run->longest_gap_ns) / 1e6);
    print_us("pairs_us", all, threads, false);
    printf(",");
    print_us("hand_offs_us", all, threads, true);
    printf("}\n");
}

static void obey_run(const char *line) {
    int threads = number_of(line, "threads", 1);
    struct run run = { .resources = number_of(line, "resources", 1),
                       .permits = number_of(line, "permits", 0),
                       .count = number_of(line, "count", 100000),
                       .milliseconds = number_of(line, "milliseconds", 600000),
                       .mixed = number_of(line, "mixed", 0) != 0 };
    run.handed_on = run.resources == 1 && run.permits <= 1 && !run.mixed;
    text_of(line, "resource", run.resource, sizeof run.resource);
    pthread_barrier_init(&run.start, NULL, (unsigned)threads + 1);
    struct contention *all = allocate((uint64_t)threads, sizeof *all);
    contend_and_tell(&run, all, threads);
    for (int i = 0; i < threads; i++) {
        free(all[i].pairs_ns);
        free(all[i].hand_offs_ns);
    }
    free(all);
    pthread_barrier_destroy(&run.start);
}

/* ---- Many at once ------------------------------------------------------------------------------
 */

static void *held;                /* hold_one */
static void *parts[SESSIONS_MAX]; /* hold, by session */

static void tell_many(int64_t began_ns, int64_t used_ns, size_t allocated, int count) {
    printf("{\"grants\":%d,\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"bytes_each\":%.1f", count,
           (double)(now_ns() - began_ns) / 1e9, (double)(cpu_ns() - used_ns) / 1e9,
           ((double)mallinfo2().uordblks - (double)allocated) / count);
}

/* Each session its part: one client of zklock has room for some 50,000 requests. */
static void obey_hold(const char *line) {
    char resource[NAME_SIZE];
    char part[NAME_SIZE + 16];
    int count = number_of(line, "count", 1) / session_count;
    text_of(line, "resource", resource, sizeof resource);
    size_t allocated = mallinfo2().uordblks;
    int64_t used_ns = cpu_ns();
    int64_t began_ns = now_ns();
    for (int i = 0; i < session_count; i++) {
        (void)snprintf(part, sizeof part, "%s-%d", resource, i);
        parts[i] = peer->hold_many(sessions[i], part, count);
    }
    tell_many(began_ns, used_ns, allocated, count * session_count);
    printf("}\n");
}

static void obey_drop(void) {
    for (int i = 0; i < session_count; i++) {
        peer->drop_many(parts[i]);
    }
    printf("{}\n");
}

static void obey_queue(const char *line) {
    char resource[NAME_SIZE];
    int count = number_of(line, "count", 1);
    int moves = peer->queue_move != NULL ? number_of(line, "moves", 0) : 0;
    text_of(line, "resource", resource, sizeof resource);
    size_t allocated = mallinfo2().uordblks;
    int64_t used_ns = cpu_ns();
    int64_t began_ns = now_ns();
    void *queue = peer->queue_many(sessions[0], resource, count);
    tell_many(began_ns, used_ns, allocated, count);
    began_ns = now_ns();
    for (int i = 0; i < moves; i++) {
        peer->queue_move(queue);
    }
    printf(",\"moves\":%d,\"move_seconds\":%.6f}\n", moves, (double)(now_ns() - began_ns) / 1e9);
    peer->queue_leave(queue);
}

/* The first session tries what the second one holds. */
static void obey_try(const char *line) {
    char resource[NAME_SIZE];
    int count = number_of(line, "count", 1);
    text_of(line, "resource", resource, sizeof resource);
    void *contender = peer->contender_open(sessions[0], resource, 0);
    int64_t began_ns = now_ns();
    int grants = 0;
    for (int i = 0; i < count; i++) {
        grants += peer->try_acquire(contender);
    }
    printf("{\"grants\":%d,\"tries\":%d,\"seconds\":%.6f}\n", grants, count,
           (double)(now_ns() - began_ns) / 1e9);
    peer->contender_close(contender);
}

/* ---- Commands ----------------------------------------------------------------------------------
 */

static void obey_open(const char *line) {
    char hosts[LINE_SIZE];
    text_of(line, "hosts", hosts, sizeof hosts);
    session_count = number_of(line, "sessions", 1);
    peer_lends = number_of(line, "lends", 0) != 0;
    if (session_count > SESSIONS_MAX) {
        fail("more than %d sessions", SESSIONS_MAX);
    }
    char *rest = hosts;
    for (int i = 0; i < session_count; i++) {
        /* In turn: each session at one server, or, with apart=0, at any. */
        char *host = number_of(line, "apart", 1) != 0 ? strsep(&rest, ",") : hosts;
        sessions[i] = peer->session_open(host);
        if (rest == NULL) {
            text_of(line, "hosts", hosts, sizeof hosts);
            rest = hosts;
        }
    }
    printf("{}\n");
}

static void obey_close(void) {
    for (int i = 0; i < session_count; i++) {
        peer->session_close(sessions[i]);
    }
    session_count = 0;
    printf("{}\n");
}

static void obey_make(const char *line) {
    char resource[NAME_SIZE];
    text_of(line, "resource", resource, sizeof resource);
    peer->make(sessions[0], resource, number_of(line, "resources", 1));
    printf("{}\n");
}

static void obey_hold_one(const char *line) {
    char resource[NAME_SIZE];
    text_of(line, "resource", resource, sizeof resource);
    held = peer->contender_open(sessions[session_count - 1], resource, 0);
    peer->acquire(held, PEER_EXCLUSIVE);
    printf("{}\n");
}

static void obey_drop_one(void) {
    peer->release(held);
    peer->contender_close(held);
    held = NULL;
    printf("{}\n");
}

static bool is_command(const char *line, const char *word, bool has) {
    size_t length = strlen(word);
    return has && strncmp(line, word, length) == 0 && strchr(" \n", line[length]) != NULL;
}

static void obey(const char *line) {
    if (is_command(line, "open", true)) {
        obey_open(line);
    } else if (is_command(line, "close", true)) {
        obey_close();
    } else if (is_command(line, "run", true)) {
        obey_run(line);
    } else if (is_command(line, "make", peer->make != NULL)) {
        obey_make(line);
    } else if (is_command(line, "hold_one", true)) {
        obey_hold_one(line);
    } else if (is_command(line, "drop_one", true)) {
        obey_drop_one();
    } else if (is_command(line, "try", peer->try_acquire != NULL)) {
        obey_try(line);
    } else if (is_command(line, "hold", peer->hold_many != NULL)) {
        obey_hold(line);
    } else if (is_command(line, "drop", peer->drop_many != NULL)) {
        obey_drop();
    } else if (is_command(line, "queue", peer->queue_many != NULL)) {
        obey_queue(line);
    } else {
        fail("no such command here: %s", line);
    }
}

int peer_main(const struct peer *measured) {
    char line[LINE_SIZE];
    /* Whatever becomes of the benchmark, its peers go. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    peer = measured;
    while (fgets(line, sizeof line, stdin) != NULL) {
        obey(line);
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}
