/*
 * What must hold in every run, judged from outside: by the servers' committed
 * state, which no client sees, and by what the contenders were told.
 *
 * It does not stop a run: the first violation is kept, and the run is given up
 * at its next step.
 */
#pragma once

#include "nodes.h"
#include "plan.h"
#include "simulation.h"
#include "testing/world.h"

void oracle_begin(const run_plan *plan);
void oracle_end(void);

/** The first thing that was wrong, or NULL. */
const char *oracle_violation(void);
/** The text of its rule, before names and numbers were put in; its address is always the same. */
const char *oracle_violated_rule(void);
__attribute__((format(printf, 1, 2))) void oracle_violated(const char *format, ...);

/** A client that is open. */
void oracle_client(unsigned number, zkl_client *client, zkl_process *process);
/** It is about to be closed, in the same moment. */
void oracle_client_closes(unsigned number);
/** `took_ms`: on its own clock. */
void oracle_client_closed(unsigned number, int status, int64_t timeout_ms, int64_t took_ms);

/* ---- What the contenders do and are told --------------------------------------------- */

void oracle_opened(unsigned contender, int status);
void oracle_asks(unsigned contender, zkl_lock *lock, const plan_turn *turn);
/** Somebody has tried to cancel its acquire, and was told so. */
void oracle_cancels(unsigned contender, int status);
void oracle_acquired(unsigned contender, zkl_lock *lock, zkl_process *process,
                     const plan_turn *turn, int status, const zkl_grant *grant);
void oracle_acquired_again(unsigned contender, bool reentrant, int status, const zkl_grant *grant);
void oracle_released_once(unsigned contender, int status);
/** It holds for writing, and is to hold for reading. */
void oracle_downgrades(unsigned contender);
void oracle_downgraded(unsigned contender, const plan_turn *turn, int status);
/** It holds for reading, and would hold for writing. */
void oracle_upgrades(unsigned contender);
void oracle_upgraded(unsigned contender, int status, const zkl_grant *grant);
/** Asks the handle whether it holds the lock, and compares. */
void oracle_checks(unsigned contender);
/** From here on it does not count as a holder. */
void oracle_leaves(unsigned contender);
void oracle_released(unsigned contender, const plan_turn *turn, int status);
void oracle_closed(unsigned contender);
void oracle_has_handle(unsigned contender, bool open);
/** It is about to close its handle. */
void oracle_closes_handle(unsigned contender);
/** Another task is about to close its handle, and it is in an acquire. */
void oracle_closes_meanwhile(unsigned contender);
/** Whether allocations may fail in this run. */
bool oracle_memory_runs_short(void);
/** It was told that its client is closed, and so says every other call. */
void oracle_finds_closed(unsigned contender, zkl_lock *lock);
void oracle_told(unsigned contender, const zkl_lock_event *event);

/** The store that is fenced by tokens. False: the holder's claim came too late. */
bool oracle_store_claim(unsigned contender, int64_t *value);
void oracle_store_write(unsigned contender, int64_t value);

/** Before it asks the servers whether it holds: whether its node lives. And what they said. */
bool oracle_guard_lives(unsigned contender);
void oracle_verified(unsigned contender, bool lived_before, int status);

/** What a guarded write is to write, and what was told of it; and that it is carried out. */
enum { ORACLE_GUARDED_TEXT_SIZE = 256 };
void oracle_guarded_begins(unsigned contender, char text[ORACLE_GUARDED_TEXT_SIZE]);
void oracle_guarded_told(const char *text, int status);
void oracle_guarded_applied(const char *text);

/* ---- What happens to them -------------------------------------------------------------- */

/** To be called often, whether anything happens or not. */
void oracle_looks(void);
/** A client's process was stopped for so long. */
void oracle_was_stopped(unsigned client, int64_t us);
/** A client's process dies: its nodes end with its sessions. */
void oracle_ends_early(unsigned client);
/** Nothing goes wrong any more. */
void oracle_is_healed(void);

/** A session is about to delete a node of its own. */
void oracle_deleted(const node_record *node);

/** What it has seen so far is added. */
void oracle_count(simulation_counts *counts);

/** At the end, when nothing goes wrong any more and all contenders are done. */
/** A contender of another library holds a resource, by its own rules: none of ours may that has the
 *  names which it looks at. */
void oracle_judge_peer(const char *resource_path, zkl_naming naming, bool looks_at_readers);

void oracle_judge_quiescence(void);
