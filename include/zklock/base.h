/*
 * zklock: what its headers share: handles, constants and limits. Read zklock.h, which includes
 * this.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_BASE_H
#define ZKLOCK_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ZKL_API __attribute__((visibility("default")))
/* For functions whose status says whether the caller has what it asked for: the compiler warns if
 * a program ignores it (gcc even behind a cast to void). */
#define ZKL_CHECKED_API ZKL_API __attribute__((warn_unused_result))
#else
#define ZKL_API
#define ZKL_CHECKED_API ZKL_API
#endif

#define ZKL_VERSION_MAJOR 0
#define ZKL_VERSION_MINOR 1
#define ZKL_VERSION_PATCH 0

/* ---- Structs, and numbers with a meaning --------------------------------- */

/** What each _INIT macro is: struct_size is set, and all else is 0. */
#ifdef __cplusplus
extern "C++" {
template <typename type> inline type zkl_sized() {
    type made = type();
    made.struct_size = sizeof(type);
    return made;
}
}
#define ZKL_SIZED(type) zkl_sized<type>()
#else
#define ZKL_SIZED(type)                                                                            \
    { .struct_size = sizeof(type) }
#endif

/** For an option whose 0 is a default, and which can be switched off: off. */
#define ZKL_NONE (-1)

/** Wait without a deadline. */
#define ZKL_FOREVER (-1)

/* ---- Handles ------------------------------------------------------------- */

/**
 * A client: a ZooKeeper session (a new one takes its place when it expires),
 * the threads that serve it, and the requests that run on it. Share it freely
 * among threads; a process needs only one per ensemble.
 *
 * A session cannot watch any number of nodes: a client with more than about
 * 2,500 requests at once (the names of the resources count) opens further
 * sessions, up to 16, and keeps them until it is closed.
 */
typedef struct zkl_client zkl_client;

/** One contender for one resource, or for a set of resources (zkl_lock_open_set). One acquire, hold
 *  or release at a time. */
typedef struct zkl_lock zkl_lock;

/* Defined in zklock.h. */
typedef struct zkl_lock_options zkl_lock_options;
typedef struct zkl_grant zkl_grant;

/* ---- Limits -------------------------------------------------------------- */

/** Longest resource name or absolute resource path, in bytes without the NUL. */
#define ZKL_RESOURCE_MAX 512
/** Longest lock root and longest chroot, each, in bytes without the NUL. */
#define ZKL_ROOT_MAX 256
/** Longest host list, in bytes without the NUL. */
#define ZKL_HOSTS_MAX 4096
/** Longest identity label, in bytes without the NUL. */
#define ZKL_LABEL_MAX 128
/** Longest name of a lock's owner, in bytes without the NUL. */
#define ZKL_OWNER_MAX 128
/** What the name of an owner begins with that locks of several sessions share. */
#define ZKL_OWNER_SHARED "shared:"
/** Longest note in a lock's node, in bytes without the NUL. */
#define ZKL_NOTE_MAX 256
/** Room for the full path of a lock's node, with its NUL. */
#define ZKL_NODE_PATH_SIZE 1152
/** Shortest and longest session timeout that a client can ask for. The servers clamp it to their
 *  own limits (2 to 20 ticks by default). A shorter one would not leave libzookeeper the time to
 *  connect. */
#define ZKL_SESSION_TIMEOUT_MIN_MS 100
#define ZKL_SESSION_TIMEOUT_MAX_MS 3600000
/** What a client has whose options say 0 or NULL. */
#define ZKL_SESSION_TIMEOUT_DEFAULT_MS 10000
#define ZKL_CONNECT_TIMEOUT_DEFAULT_MS 15000
#define ZKL_LOCK_ROOT_DEFAULT "/locks"
/** Longest lease_tick_ms. */
#define ZKL_LEASE_TICK_MAX_MS 60000
/** Longest name of a file or directory, in bytes without the NUL. */
#define ZKL_FILE_NAME_MAX 1024
/** How often the owner of a reentrant handle can acquire it without a release. */
#define ZKL_HOLDS_MAX 65535
/** Most permits of a semaphore. A request that waits for a permit watches as many nodes as the
 *  semaphore has permits. */
#define ZKL_PERMITS_MAX 1000
/** Largest max_waiting. */
#define ZKL_WAITING_MAX 1000000

#ifdef __cplusplus
}
#endif

#endif
