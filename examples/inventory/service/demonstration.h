/*
 * What a demonstration does with orders: it sells without a lock, takes its time between the read
 * and the write, and does to the instance there what happens to machines. The shop knows none of
 * it: a trial has steps of its own in place of the shop's.
 */
#pragma once

#include "shop.h"

/** What happens to the whole instance between the read and the write of an order. */
typedef enum harm { HARM_NONE, HARM_STOP, HARM_KILL, HARM_CUT_ZOOKEEPER, HARM_CUT_DATABASE } harm;

/** An order of a demonstration. */
typedef struct trial {
    order order; /* first */
    bool without_lock;
    int64_t think_ms;  /* how long it waits between its read and its write */
    harm harm;         /* once: not again when the order begins again */
    int64_t harm_ms;   /* how long it lasts */
    const char *hosts; /* of the ensemble, for the way back */
} trial;

/** Finds a harm by its name. False: there is none of that name, which may be NULL. */
bool harm_find(const char *name, harm *found);

/** Gives an order its steps. Without anything to show they stay the shop's. Then serve it. */
void trial_prepare(trial *self);
