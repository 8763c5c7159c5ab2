/*
 * A simulated world: virtual time, one seed for all that is left to chance, and
 * tasks that take turns on one thread. What would be threads, processes, servers
 * and a network lives in it; the same seed gives the same run, step by step.
 *
 * There is one world at a time in a program, and all of this is for one thread.
 * Time passes only when nobody has anything to do at the present moment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zkl_process zkl_process;

/** Ends a world that is still there, and begins a new one at time 0. Out of memory it aborts, as
 *  all of the simulation does: what is to be tested is not its own frugality. */
void zkl_world_begin(uint64_t seed);
/** Ends it. Tasks that have not ended are gone without another step: what they
 *  own is not freed. Events are forgotten. */
void zkl_world_end(void);

/** Ends the program, unless there is one and the calling thread began it. */
void zkl_world_insist_on_thread(void);
/** That of the world; 0: there is none. */
uint64_t zkl_world_seed(void);

/** Zeroed memory that is freed with the world. */
void *zkl_world_allocate(size_t size);

/** Microseconds of virtual time since the world began. */
int64_t zkl_world_now_us(void);

/** A number from 0 up to, and not including, `bound` (at least 1). */
uint64_t zkl_world_random(uint64_t bound);
/** From `low` to `high`, both included. */
int64_t zkl_world_random_between(int64_t low, int64_t high);
/** True in `per_million` of a million cases. */
bool zkl_world_chance(uint32_t per_million);

/* ---- Processes --------------------------------------------------------------- */

/** A process of an application: its clock may run fast or slow, and it can be
 *  stopped, with all of its tasks and all that is to be delivered to it. Lives
 *  as long as the world. `rate_ppm`: by how many millionths its clock is fast. */
zkl_process *zkl_process_begin(int32_t rate_ppm);
/** Stops it, as SIGSTOP does, until it is continued. */
void zkl_process_stop(zkl_process *process);
/** The same, as when a virtual machine is stopped: meanwhile its clock stands still, and its wall
 *  clock, which is set when it goes on, does not. */
void zkl_process_stop_machine(zkl_process *process);
void zkl_process_continue(zkl_process *process);
/** Stops it until that moment; of several, until the last of them. */
void zkl_process_pause(zkl_process *process, int64_t until_us);
bool zkl_process_is_stopped(const zkl_process *process);
/** Microseconds on its own clock. */
int64_t zkl_process_now_us(const zkl_process *process);
/** The same without the times in which the clock stood still. */
int64_t zkl_process_wall_us(const zkl_process *process);
/** The process of the running task or event; otherwise the world's own. */
zkl_process *zkl_process_current(void);
/** From now on, what the caller does it does as this process; the one before is
 *  returned. A task or an event that ends takes it with it. */
zkl_process *zkl_process_enter(zkl_process *process);
/** The world's own. */
zkl_process *zkl_process_first(void);
/** A counter from 1 in order of their beginnings; the world's own is 0. */
uint32_t zkl_process_number(const zkl_process *process);

/* ---- Events ------------------------------------------------------------------ */

/** Something that happens at a moment. Embed it, zeroed; set `run`, `arg` and
 *  `process` (whom it happens to: it waits while that one is stopped; NULL: to
 *  nobody). Events of the same moment happen in the order in which they were scheduled. */
typedef struct zkl_world_event {
    void (*run)(void *arg);
    void *arg;
    zkl_process *process;
    int64_t at_us;
    uint64_t order;
    size_t place; /* 0: not scheduled */
} zkl_world_event;

/** Schedules it, or moves it; a moment in the past is now. The event is no longer scheduled when
 *  `run` is called, which may free it. `run` must not wait. */
void zkl_world_schedule(zkl_world_event *event, int64_t at_us);
/** May also be called for an event that is not scheduled. */
void zkl_world_unschedule(zkl_world_event *event);

/* ---- Tasks ------------------------------------------------------------------- */

typedef struct zkl_task zkl_task;

/** Starts a task in the current process. It runs when the others wait, until it
 *  waits itself; which one is next is left to chance. Its memory is the world's. */
zkl_task *zkl_task_start(void *(*run)(void *), void *arg);
bool zkl_task_has_ended(const zkl_task *task);
/** The running task, or NULL: the program's own main, or an event. */
zkl_task *zkl_task_current(void);
/** From 1; the program's own main has 0, and so have events. */
uint64_t zkl_task_number(void);
/** A mark that the running task can give itself, and take away. An event has none. */
void zkl_task_mark(bool marked);
bool zkl_task_is_marked(void);

/** Lets time pass, in microseconds of the world. A task waits; the program's main
 *  runs the world meanwhile. Not from an event. */
void zkl_world_sleep_us(int64_t us);

/** Waits until somebody wakes the tasks that wait on the same address, or until a
 *  moment of the world (INT64_MAX: for ever); may return early. If nothing will
 *  ever happen again the program's main aborts, and says so. */
void zkl_world_wait_on(const void *address, int64_t until_us);
/** Wakes all tasks that wait on an address. */
void zkl_world_wake_all(const void *address);
