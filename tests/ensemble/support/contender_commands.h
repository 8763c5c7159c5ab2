/* What the files of the program contender.c share. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <zklock/election.h>
#include <zklock/zklock.h>

struct contender {
    const char *resource;
    zkl_client *client;
    zkl_lock *lock;
    zkl_lock *both;
    zkl_lock *also;
    zkl_transaction *plan;
    zkl_election *election;
    atomic_int elected; /* how often that was told */
    atomic_int lost;
};

/** Each obeys the commands of its kind; false: it is none of them. */
bool contender_obey_about_writes(const char *command, struct contender *self);
bool contender_obey_about_leading(const char *command, struct contender *self);

void contender_end_writes(struct contender *self);
void contender_end_leading(struct contender *self);
