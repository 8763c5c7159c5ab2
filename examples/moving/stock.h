/* The work of the service that moves, whatever its lock: nothing but the lock keeps it right. */
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/** Reads an argument. */
int stock_number(const char *argument);

/** Set by SIGTERM: the service finishes what it has begun. */
extern volatile sig_atomic_t stock_is_closing;
void stock_close_on_sigterm(void);

/** Reads the number of orders in the file, works for so long, and writes one more. False: somebody
 * else was at it. */
bool stock_take_order(const char *file, int held_ms);

/** Prints that the servers answer. */
void stock_report_open(void);
/** Prints how many orders were taken, and at how many somebody else was at it. */
void stock_report(int orders, int overlaps);
