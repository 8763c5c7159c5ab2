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
/** The servers have other addresses from now on, and nobody listens at the old ones. Connections
 *  that there are stay. */
void zkl_names_move(void);
/** The same for some of them, as bits. */
void zkl_names_move_some(uint32_t servers);
/** From now on nothing answers at the addresses that these servers have now, not even a refusal; at
 *  those of others somebody does again. Connections that there are stay. */
void zkl_holes_open(uint32_t servers);
/** The next `count` attempts to open a connection fail. */
void zkl_opens_fail(uint32_t count);
/** From now on the thread that opens a connection is that much slower. */
void zkl_opens_take(int64_t us);

/** How often names were looked up. */
size_t zkl_names_looked_up(void);

/* ---- For the resolver and the connection ----------------------------------------------- */

/** Looks the names of so many servers up, and writes what they lead to as text. False: they cannot
 * be resolved. */
bool zkl_machine_looks_up(uint32_t servers, char *text, size_t size);

/** Of a server; a look-up gives a list of them, as text. */
typedef struct zkl_address {
    uint32_t server;
    uint32_t place; /* counts moves */
} zkl_address;

/** Reads a list for an ensemble of `servers`, and returns how many it has, at most that many. Text
 *  that is none leads to all servers, where they are now. */
uint32_t zkl_addresses_read(const char *text, uint32_t servers, zkl_address *addresses);
void zkl_address_write(zkl_address address, char *text, size_t size);
/** Whether the server is there. */
bool zkl_address_leads_somewhere(zkl_address address);
/** Whether nothing answers there. */
bool zkl_address_is_hole(zkl_address address);
/** Whether the machine can open a connection now. */
bool zkl_machine_opens(void);
/** Begun, and the thread that opens it waits. */
void zkl_machine_is_opening(void);
