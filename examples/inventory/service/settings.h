/* The settings of the service: variables of the environment (INVENTORY_PORT), or else a JSON file
 * ({"port": 8080}) that INVENTORY_CONFIG or the command line names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, "default, or NULL: must be given", lowest, highest; 0, 0: a text) */
#define SETTING_LIST(X)                                                                            \
    X(hosts, "127.0.0.1:2181", 0, 0)   /* of the ZooKeeper ensemble */                             \
    X(database, "inventory.db", 0, 0)  /* a file, or postgresql://... */                           \
    X(instance, "inventory", 0, 0)     /* who this is, among several */                            \
    X(address, "127.0.0.1", 0, 0)      /* to listen at */                                          \
    X(port, "8080", 0, 65535)          /* 0: any that is free */                                   \
    X(url, ":", 0, 0)                  /* for browsers; ":": the port, at the page's host */       \
    X(workers, "4", 1, 64)             /* threads that read and write the database */              \
    X(waiting, "5000", 1, 100000)      /* orders at a time; further ones are turned away */        \
    X(patience_ms, "10000", 1, 600000) /* for the locks of an order */                             \
    X(finish_ms, "20000", 0, 600000)   /* after SIGTERM, for orders to end by themselves */        \
    X(session_timeout_ms, "10000", 100, 600000)                                                    \
    X(plain_locks, "0", 0, 1)   /* 1: Curator's mutex shares the locks. Reads exclude, too */      \
    X(page, "0", 0, 1)          /* 1: whoever can reach it sees stock, orders, queues */           \
    X(demonstration, "0", 0, 1) /* 1: no lock, harm, other origins */

typedef struct settings {
#define SETTING_FIELD(name, initial, low, high) const char *name;
    SETTING_LIST(SETTING_FIELD)
#undef SETTING_FIELD
} settings;

/** Reads the settings. `file`: the path that the command line names, or NULL. False: it has said on
 *  stderr what is wrong. The texts stay valid as long as the program runs. */
bool settings_read(settings *self, const char *file);

/** Returns the value of a setting that is a number. */
int32_t settings_number(const char *value);
