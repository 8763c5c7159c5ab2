/*
 * What the machine of a client does for it in a simulated world, and may fail to do: it looks
 * names up, and opens connections. The servers may move to other addresses: then the old ones lead
 * nowhere, and only a client that looks the names up again finds them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Faults; durations are in microseconds -------------------------------------------- */

/** Names lead to the servers, and all goes well: at the beginning of an ensemble. */
void zkl_machine_begin(void);
/** From now on nothing fails, and every address that a client has leads to the servers. */
void zkl_machine_heal(void);

/** No name can be resolved for that long. */
void zkl_names_fail(int64_t for_us);
/** Each look-up takes that long from now on. */
void zkl_names_take(int64_t us);
/** Names lead to these servers only from now on: one bit for each, at least one. */
void zkl_names_lead_to(uint32_t servers);
/** The servers have other addresses from now on. Connections that there are stay. */
void zkl_names_move(void);
/** The next `count` attempts to open a connection fail. */
void zkl_opens_fail(uint32_t count);
/** From now on the thread that opens a connection is that much slower. */
void zkl_opens_take(int64_t us);

/** How often names were looked up. */
size_t zkl_names_looked_up(void);

/* ---- For the resolver and the connection ----------------------------------------------- */

/** Looks the names up, and writes what they lead to as text. False: they cannot be resolved. */
bool zkl_machine_looks_up(char *text, size_t size);

/** What a look-up gives, as text. */
typedef struct zkl_addresses {
    uint32_t place;   /* where the servers were: counts their moves */
    uint32_t servers; /* bits */
} zkl_addresses;

/** Text that is none leads to all servers, where they are now. */
zkl_addresses zkl_addresses_read(const char *text);
/** Whether the servers are there. */
bool zkl_addresses_lead_somewhere(zkl_addresses addresses);
/** Whether the machine can open a connection now. */
bool zkl_machine_opens(void);
/** Begun, and the thread that opens it waits. */
void zkl_machine_is_opening(void);
