#include "wire.h"

#include "../basics.h"
#include "../peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 30000, SEQUENCE_DIGITS = 10 };

void wire_require(int rc, const char *what) {
    if (rc != ZOK) {
        fail("%s: %s", what, zerror(rc));
    }
}

void wire_wait(sem_t *event) {
    while (sem_wait(event) != 0) {
        /* A signal. */
    }
}

zhandle_t *wire_open(const char *hosts) {
    zoo_set_debug_level((ZooLogLevel)0);
    zhandle_t *zh = zookeeper_init(hosts, NULL, PEER_SESSION_TIMEOUT_MS, NULL, NULL, 0);
    if (zh == NULL) {
        fail("zookeeper_init(%s) failed", hosts);
    }
    /* Otherwise the names are looked up in every loop of its I/O thread. */
    (void)zoo_set_servers_resolution_delay(zh, -1);
    for (int waited_ms = 0; zoo_state(zh) != ZOO_CONNECTED_STATE; waited_ms++) {
        if (waited_ms > PATIENCE_MS) {
            fail("no connection to %s", hosts);
        }
        nap();
    }
    return zh;
}

void wire_close(zhandle_t *zh) {
    (void)zookeeper_close(zh);
}

void wire_make(zhandle_t *zh, const char *path) {
    int rc = zoo_create(zh, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    wire_require(rc == ZNODEEXISTS ? ZOK : rc, path);
}

int64_t wire_sequence(const char *name) {
    size_t length = strlen(name);
    return length < SEQUENCE_DIGITS ? -1 : strtoll(name + length - SEQUENCE_DIGITS, NULL, 10);
}
