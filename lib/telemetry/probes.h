/*
 * Probes for tracers such as bpftrace and SystemTap (USDT), provider "zklock". Each is
 * a nop until a tracer puts something in its place; a counter beside it, which the
 * tracer raises, tells whether anybody looks, so that what a probe tells is made up
 * only then. docs/observability.md has the table, examples/trace a script.
 *
 * ZKLOCK_PROBES is defined where <sys/sdt.h> is there; else there are none.
 */
#pragma once

#ifdef ZKLOCK_PROBES
#include <sys/sdt.h>

#ifdef __clang__
/* Its macros leave variable arguments out. */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/** The counter of a probe, by the name that <sys/sdt.h> gives it. */
#define ZKL_PROBE_COUNTER(name)                                                                    \
    __attribute__((section(".probes"),                                                             \
                   visibility("hidden"))) volatile unsigned short zklock_##name##_semaphore
/** Fires a probe with `count` arguments, which are evaluated only if it is watched. */
#define ZKL_PROBE(name, count, ...)                                                                \
    do {                                                                                           \
        if (__builtin_expect(zklock_##name##_semaphore != 0, 0)) {                                 \
            DTRACE_PROBE##count(zklock, name, __VA_ARGS__);                                        \
        }                                                                                          \
    } while (0)

#else
#define ZKL_PROBE_COUNTER(name) extern int zkl_there_are_no_probes
#define ZKL_PROBE(name, count, ...) ((void)0)
#endif
