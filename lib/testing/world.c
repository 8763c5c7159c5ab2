#include "testing/world.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "testing/fiber.h"
#include "testing/memory.h"

enum { US_PER_MS = 1000 };

/* An event whose moment has come, but whose process is stopped, has a place among
 * those that the process keeps; it is told apart by this bit. */
#define KEPT_PLACE ((size_t)1 << (sizeof(size_t) * CHAR_BIT - 1))

struct zkl_process {
    uint32_t number;
    int32_t rate_ppm;
    bool stopped;
    int64_t clock_stands_us; /* since when its clock stands still; -1: it goes */
    int64_t clock_lost_us;   /* how long it has stood still before */
    zkl_world_event go_on;   /* the end of a pause */
    zkl_world_event **kept;  /* NULL where one has been unscheduled */
    size_t kept_count;
    size_t kept_capacity;
    struct zkl_process *next;
};

struct zkl_task {
    uint64_t number; /* 0: the program's own main */
    void *(*run)(void *);
    void *arg;
    zkl_process *process;
    zkl_fiber fiber;
    const void *waits_on; /* NULL: it runs, is ready, or has ended */
    zkl_world_event deadline;
    bool marked;
    bool ended;
    zkl_task *prev, *next; /* among those that wait, in the order in which they began to */
    zkl_task *next_of_all;
};

/* Memory that goes with the world. */
typedef struct allocation {
    struct allocation *next;
    max_align_t memory[];
} allocation;

static struct {
    pthread_t thread; /* the only one that may use it */
    uint64_t seed;
    uint64_t random[4];
    int64_t now_us;
    zkl_process *processes;
    zkl_process *first_process; /* the world's own */
    zkl_process *current_process;
    uint32_t process_count;
    zkl_world_event **heap; /* heap[0] is not used */
    size_t event_count;
    size_t event_capacity;
    uint64_t last_order;
    allocation *allocations;
    zkl_task *tasks;
    zkl_task *waiting;
    zkl_task **ready;
    size_t ready_count;
    size_t ready_capacity;
    uint64_t last_task_number;
    zkl_task main;     /* the program's own; its stack and context are the program's */
    zkl_task *running; /* NULL: an event, or the world itself */
} world;

/* ---- Whose it is ---------------------------------------------------------------- */

/* What uses zklock wrongly gets here, sooner or later. */
void zkl_world_insist_on_thread(void) {
    if (world.first_process == NULL) {
        zkl_testing_fail("zklock was called, but no simulation has begun");
    }
    if (!pthread_equal(world.thread, pthread_self())) {
        zkl_testing_fail("zklock was called from another thread than the one of the simulation; "
                         "start a task instead (zkl_testing_start)");
    }
}

uint64_t zkl_world_seed(void) {
    return world.seed;
}

/* ---- Chance ------------------------------------------------------------------ */

/* xoshiro256** by Blackman and Vigna, seeded by splitmix64, as they recommend. */

static uint64_t split_mix(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, unsigned by) {
    return (x << by) | (x >> (64 - by));
}

static uint64_t next_random(void) {
    uint64_t *s = world.random;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t zkl_world_random(uint64_t bound) {
    return next_random() % bound;
}

int64_t zkl_world_random_between(int64_t low, int64_t high) {
    return low + (int64_t)zkl_world_random((uint64_t)(high - low) + 1);
}

bool zkl_world_chance(uint32_t per_million) {
    return per_million > 0 && zkl_world_random(1000000) < per_million;
}

/* ---- Events: a binary heap by moment, then by order ---------------------------- */

int64_t zkl_world_now_us(void) {
    return world.now_us;
}

static bool is_before(const zkl_world_event *one, const zkl_world_event *other) {
    return one->at_us != other->at_us ? one->at_us < other->at_us : one->order < other->order;
}

static void put(zkl_world_event *event, size_t place) {
    world.heap[place] = event;
    event->place = place;
}

static void move_up(zkl_world_event *event) {
    size_t place = event->place;
    while (place > 1 && is_before(event, world.heap[place / 2])) {
        put(world.heap[place / 2], place);
        place /= 2;
    }
    put(event, place);
}

static void move_down(zkl_world_event *event) {
    size_t place = event->place;
    for (size_t child = 2 * place; child <= world.event_count; child = 2 * place) {
        if (child < world.event_count && is_before(world.heap[child + 1], world.heap[child])) {
            child++;
        }
        if (!is_before(world.heap[child], event)) {
            break;
        }
        put(world.heap[child], place);
        place = child;
    }
    put(event, place);
}

static void make_room_for_event(void) {
    if (world.event_count + 1 < world.event_capacity) {
        return;
    }
    world.event_capacity = world.event_capacity == 0 ? 64 : 2 * world.event_capacity;
    world.heap =
        zkl_testing_reallocate(world.heap, world.event_capacity * sizeof(zkl_world_event *));
}

void zkl_world_schedule(zkl_world_event *event, int64_t at_us) {
    zkl_world_unschedule(event);
    make_room_for_event();
    event->at_us = at_us > world.now_us ? at_us : world.now_us;
    event->order = ++world.last_order;
    world.event_count++;
    put(event, world.event_count);
    move_up(event);
}

void zkl_world_unschedule(zkl_world_event *event) {
    if (event->place == 0) {
        return;
    }
    if ((event->place & KEPT_PLACE) != 0) {
        event->process->kept[event->place & ~KEPT_PLACE] = NULL;
        event->place = 0;
        return;
    }
    size_t place = event->place;
    event->place = 0;
    zkl_world_event *last = world.heap[world.event_count--];
    if (last != event) {
        put(last, place);
        move_up(last);
        move_down(last);
    }
}

static zkl_world_event *take_earliest(void) {
    zkl_world_event *event = world.heap[1];
    zkl_world_unschedule(event);
    return event;
}

/* ---- Processes ----------------------------------------------------------------- */

static void end_pause(void *arg) {
    zkl_process_continue(arg);
}

zkl_process *zkl_process_begin(int32_t rate_ppm) {
    zkl_process *process = zkl_testing_allocate(sizeof(*process));
    process->number = world.process_count++;
    process->rate_ppm = rate_ppm;
    process->clock_stands_us = -1;
    process->go_on = (zkl_world_event){ .run = end_pause, .arg = process };
    LL_PREPEND(world.processes, process);
    return process;
}

void zkl_process_stop(zkl_process *process) {
    process->stopped = true;
}

void zkl_process_stop_machine(zkl_process *process) {
    zkl_process_stop(process);
    process->clock_stands_us = world.now_us;
}

void zkl_process_continue(zkl_process *process) {
    process->stopped = false;
    if (process->clock_stands_us >= 0) {
        process->clock_lost_us += world.now_us - process->clock_stands_us;
        process->clock_stands_us = -1;
    }
    for (size_t i = 0; i < process->kept_count; i++) {
        zkl_world_event *event = process->kept[i];
        if (event != NULL) {
            event->place = 0;
            zkl_world_schedule(event, world.now_us);
        }
    }
    process->kept_count = 0;
}

void zkl_process_pause(zkl_process *process, int64_t until_us) {
    zkl_process_stop(process);
    if (process->go_on.place == 0 || process->go_on.at_us < until_us) {
        zkl_world_schedule(&process->go_on, until_us);
    }
}

bool zkl_process_is_stopped(const zkl_process *process) {
    return process->stopped;
}

static void keep_for_later(zkl_world_event *event) {
    zkl_process *process = event->process;
    if (process->kept_count == process->kept_capacity) {
        process->kept_capacity = process->kept_capacity == 0 ? 16 : 2 * process->kept_capacity;
        process->kept = zkl_testing_reallocate(process->kept,
                                               process->kept_capacity * sizeof(zkl_world_event *));
    }
    event->place = process->kept_count | KEPT_PLACE;
    process->kept[process->kept_count++] = event;
}

/* How far its clock has got when the world's has got to `at_us`. */
static int64_t to_local(const zkl_process *process, int64_t at_us) {
    return at_us + at_us / 1000000 * process->rate_ppm +
           at_us % 1000000 * process->rate_ppm / 1000000;
}

int64_t zkl_process_now_us(const zkl_process *process) {
    zkl_world_insist_on_thread();
    int64_t stands_us = process->clock_stands_us;
    return to_local(process, stands_us >= 0 ? stands_us : world.now_us) - process->clock_lost_us;
}

int64_t zkl_process_wall_us(const zkl_process *process) {
    return to_local(process, world.now_us);
}

zkl_process *zkl_process_current(void) {
    return world.current_process;
}

zkl_process *zkl_process_enter(zkl_process *process) {
    zkl_process *before = world.current_process;
    world.current_process = process;
    if (world.running != NULL) {
        world.running->process = process;
    }
    return before;
}

zkl_process *zkl_process_first(void) {
    return world.first_process;
}

uint32_t zkl_process_number(const zkl_process *process) {
    return process->number;
}

/* ---- Tasks ---------------------------------------------------------------------- */

static void make_ready(zkl_task *task) {
    if (world.ready_count == world.ready_capacity) {
        world.ready_capacity = world.ready_capacity == 0 ? 16 : 2 * world.ready_capacity;
        world.ready =
            zkl_testing_reallocate(world.ready, world.ready_capacity * sizeof(zkl_task *));
    }
    world.ready[world.ready_count++] = task;
}

static void wake(zkl_task *task) {
    task->waits_on = NULL;
    zkl_world_unschedule(&task->deadline);
    DL_DELETE(world.waiting, task);
    make_ready(task);
}

static void on_deadline(void *arg) {
    wake(arg);
}

static void run_task(void) {
    zkl_task *task = world.running;
    task->run(task->arg);
    task->ended = true;
    zkl_world_wake_all(task);
    zkl_fiber_leave(&task->fiber, &world.main.fiber);
}

zkl_task *zkl_task_start(void *(*run)(void *), void *arg) {
    zkl_world_insist_on_thread();
    zkl_task *task = zkl_testing_allocate(sizeof(*task));
    task->number = ++world.last_task_number;
    task->run = run;
    task->arg = arg;
    task->process = world.current_process;
    task->deadline = (zkl_world_event){ .run = on_deadline, .arg = task };
    zkl_fiber_begin(&task->fiber, run_task);
    task->next_of_all = world.tasks;
    world.tasks = task;
    make_ready(task);
    return task;
}

bool zkl_task_has_ended(const zkl_task *task) {
    return task->ended;
}

zkl_task *zkl_task_current(void) {
    return world.running != &world.main ? world.running : NULL;
}

uint64_t zkl_task_number(void) {
    return world.running != NULL ? world.running->number : 0;
}

void zkl_task_mark(bool marked) {
    world.running->marked = marked;
}

bool zkl_task_is_marked(void) {
    return world.running != NULL && world.running->marked;
}

/* ---- Turns ---------------------------------------------------------------------- */

/* One of the tasks that are ready and whose process runs; NULL: there is none. */
static zkl_task *choose_ready(void) {
    size_t able = 0;
    for (size_t i = 0; i < world.ready_count; i++) {
        able += !world.ready[i]->process->stopped;
    }
    if (able == 0) {
        return NULL;
    }
    size_t chosen = able == 1 ? 0 : (size_t)zkl_world_random(able);
    size_t i = 0;
    while (world.ready[i]->process->stopped || chosen-- > 0) {
        i++;
    }
    zkl_task *task = world.ready[i];
    world.ready_count--;
    memmove(&world.ready[i], &world.ready[i + 1], (world.ready_count - i) * sizeof(zkl_task *));
    return task;
}

static void switch_to(zkl_task *task) {
    world.running = task;
    world.current_process = task->process;
    zkl_fiber_switch(&world.main.fiber, &task->fiber);
    if (task->ended) {
        zkl_fiber_end(&task->fiber);
    }
}

static void run_earliest_event(void) {
    zkl_world_event *event = take_earliest();
    world.now_us = event->at_us;
    if (event->process != NULL && event->process->stopped) {
        keep_for_later(event);
        return;
    }
    world.current_process = event->process != NULL ? event->process : world.first_process;
    event->run(event->arg);
}

/* Runs the world, on the stack of the program's main, until main itself is next. */
static void run_until_main_is_next(void) {
    for (;;) {
        zkl_task *task = choose_ready();
        if (task == &world.main) {
            break;
        }
        world.running = NULL;
        if (task != NULL) {
            switch_to(task);
        } else if (world.event_count > 0) {
            run_earliest_event();
        } else {
            zkl_testing_fail("everybody waits, and nothing will ever happen again");
        }
    }
    world.running = &world.main;
    world.current_process = world.main.process;
}

void zkl_world_wait_on(const void *address, int64_t until_us) {
    zkl_world_insist_on_thread();
    if (world.running == NULL) {
        zkl_testing_fail("an event cannot wait");
    }
    zkl_task *task = world.running;
    task->waits_on = address;
    DL_APPEND(world.waiting, task);
    if (until_us != INT64_MAX) {
        task->deadline.process = task->process;
        zkl_world_schedule(&task->deadline, until_us);
    }
    if (task == &world.main) {
        run_until_main_is_next();
    } else {
        zkl_fiber_switch(&task->fiber, &world.main.fiber);
    }
}

void zkl_world_wake_all(const void *address) {
    zkl_task *task = NULL;
    zkl_task *next = NULL;
    DL_FOREACH_SAFE(world.waiting, task, next) {
        if (task->waits_on == address) {
            wake(task);
        }
    }
}

void zkl_world_sleep_us(int64_t us) {
    int64_t until_us = world.now_us + us;
    while (world.now_us < until_us) {
        zkl_world_wait_on(&world.running->number, until_us);
    }
}

/* ---- Beginning and end ------------------------------------------------------------ */

static void print_place(void) {
    fprintf(stderr, " (seed %" PRIu64 ", at %" PRId64 " ms)", world.seed, world.now_us / US_PER_MS);
}

void zkl_world_begin(uint64_t seed) {
    zkl_world_end();
    zkl_testing_set_place(print_place);
    world.thread = pthread_self();
    world.seed = seed;
    for (size_t i = 0; i < sizeof(world.random) / sizeof(world.random[0]); i++) {
        world.random[i] = split_mix(&seed);
    }
    world.first_process = zkl_process_begin(0);
    world.main.process = world.first_process;
    zkl_fiber_begin_here(&world.main.fiber);
    world.main.deadline = (zkl_world_event){ .run = on_deadline, .arg = &world.main };
    world.current_process = world.first_process;
    world.running = &world.main;
}

void *zkl_world_allocate(size_t size) {
    allocation *one = zkl_testing_allocate(sizeof(*one) + size);
    LL_PREPEND(world.allocations, one);
    return one->memory;
}

static void free_allocations(void) {
    allocation *one = NULL;
    allocation *next = NULL;
    LL_FOREACH_SAFE(world.allocations, one, next) {
        zkl_testing_free(one);
    }
}

static void free_tasks(void) {
    zkl_task *task = NULL;
    zkl_task *next = NULL;
    for (task = world.tasks; task != NULL; task = next) {
        next = task->next_of_all;
        zkl_fiber_end(&task->fiber);
        zkl_testing_free(task);
    }
}

static void free_processes(void) {
    zkl_process *process = NULL;
    zkl_process *next = NULL;
    LL_FOREACH_SAFE(world.processes, process, next) {
        zkl_testing_free(process->kept);
        zkl_testing_free(process);
    }
}

void zkl_world_end(void) {
    zkl_testing_set_place(NULL);
    free_allocations();
    free_tasks();
    free_processes();
    zkl_testing_free(world.heap);
    zkl_testing_free(world.ready);
    memset(&world, 0, sizeof(world));
}
