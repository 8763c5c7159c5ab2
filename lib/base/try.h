/* The one way to hand a failure on: a function that checks, or does one thing after another. */
#ifndef ZKLOCK_TRY_H
#define ZKLOCK_TRY_H

#include "zklock/zklock.h"

/** Ends the function with the status of `call`, unless that is ZKL_OK. Not where something is to be
 *  given back first: let an inner function use it, and its caller give back. */
#define ZKL_TRY(call)                                                                              \
    do {                                                                                           \
        int try_status = (call);                                                                   \
        if (try_status != ZKL_OK) {                                                                \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

#endif
