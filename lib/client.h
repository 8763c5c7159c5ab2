/* The client as lock handles see it. */
#ifndef ZKLOCK_CLIENT_H
#define ZKLOCK_CLIENT_H

#include <pthread.h>

#include "zklock/zklock.h"
#include "zookeeper/operations_libzookeeper.h"
#include "zookeeper/session.h"

/** Room for a full parent path, with its NUL: chroot, lock root, resource. */
#define ZKL_PARENT_PATH_SIZE (2 * ZKL_ROOT_MAX + ZKL_RESOURCE_MAX + 2)

struct zkl_client {
    pthread_mutex_t mutex;          /* guards the session, the requests and the handles */
    pthread_cond_t changed;         /* news of the connection, and requests that ended */
    pthread_cond_t timers_changed;  /* for the timer thread */
    pthread_cond_t session_changed; /* for the connecting thread */
    size_t references;              /* the client itself and its lock handles */
    bool closed;
    bool stopping;        /* tells both threads to end */
    bool session_is_over; /* tells the connecting thread to open another */
    char *servers;
    char *chroot;
    char *lock_root;
    char *label;
    char *identity;
    int32_t session_timeout_ms;
    zkl_callback_thread *callbacks;
    zkl_log *log;
    zkl_libzookeeper *zookeeper;
    zkl_session session;
    pthread_t timer_thread;
    pthread_t connect_thread;
};

/** Lock handles keep the client's memory, with the mutex held. */
void zkl_client_keep(zkl_client *client);
/** Without the mutex. */
void zkl_client_drop(zkl_client *client);

/** Writes the full path of a resource that has been checked. */
void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]);

#endif
