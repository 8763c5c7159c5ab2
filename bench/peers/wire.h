/* libzookeeper, for the peers that are written on it. */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

/** Connected when it returns; a session of its own. */
zhandle_t *wire_open(const char *hosts);
void wire_close(zhandle_t *zh);

/** A persistent node; one that is there is fine. */
void wire_make(zhandle_t *zh, const char *path);

/** Fails unless it is ZOK. */
void wire_require(int rc, const char *what);
/** A signal does not end it. */
void wire_wait(sem_t *event);

/** The last ten digits of a name. */
int64_t wire_sequence(const char *name);
