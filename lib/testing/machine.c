#include "testing/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/addresses.h"
#include "testing/ensemble_types.h"
#include "testing/world.h"

static struct {
    uint32_t place;
    uint32_t places[ZKL_SERVERS_MAX]; /* where each server is */
    uint32_t servers;
    uint32_t holes;
    uint32_t holes_place; /* the last one of which they are */
    int64_t names_fail_until_us;
    int64_t names_take_us;
    uint32_t opens_fail;
    int64_t opens_take_us;
    size_t looked_up;
} machine;

void zkl_machine_begin(void) {
    machine.place = 0;
    machine.looked_up = 0;
    zkl_machine_heal();
}

void zkl_machine_heal(void) {
    memset(machine.places, 0, sizeof(machine.places));
    machine.holes = 0;
    machine.servers = UINT32_MAX;
    machine.names_fail_until_us = 0;
    machine.names_take_us = 0;
    machine.opens_fail = 0;
    machine.opens_take_us = 0;
}

void zkl_names_fail(int64_t for_us) {
    machine.names_fail_until_us = zkl_world_now_us() + for_us;
}

void zkl_names_take(int64_t us) {
    machine.names_take_us = us;
}

void zkl_names_lead_to(uint32_t servers) {
    machine.servers = servers;
}

static bool has(uint32_t servers, uint32_t server) {
    return (servers >> server & 1) != 0;
}

void zkl_names_move(void) {
    zkl_names_move_some(UINT32_MAX);
}

void zkl_names_move_some(uint32_t servers) {
    machine.place++;
    for (uint32_t i = 0; i < ZKL_SERVERS_MAX; i++) {
        if (has(servers, i)) {
            machine.places[i] = machine.place;
        }
    }
}

void zkl_holes_open(uint32_t servers) {
    machine.holes = servers;
    machine.holes_place = machine.place;
}

void zkl_opens_fail(uint32_t count) {
    machine.opens_fail = count;
}

void zkl_opens_take(int64_t us) {
    machine.opens_take_us = us;
}

size_t zkl_names_looked_up(void) {
    return machine.looked_up;
}

/* False: it is none. */
static bool read_address(const char *text, zkl_address *address) {
    static const char prefix[] = "place-";
    char *rest = NULL;
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    address->place = (uint32_t)strtoul(text + sizeof(prefix) - 1, &rest, 10);
    address->server = (uint32_t)strtoul(rest + 1, NULL, 10);
    return true;
}

void zkl_address_write(zkl_address address, char *text, size_t size) {
    snprintf(text, size, "place-%u/%u", address.place, address.server);
}

uint32_t zkl_addresses_read(const char *text, uint32_t servers, zkl_address *addresses) {
    uint32_t count = 0;
    for (; count < servers && read_address(text, &addresses[count]); count++) {
        text = zkl_addresses_rest(text);
    }
    for (uint32_t i = 0; count == 0 && i < servers; i++) {
        addresses[i] = (zkl_address){ .server = i, .place = machine.place };
    }
    return count > 0 ? count : servers;
}

bool zkl_address_leads_somewhere(zkl_address address) {
    return address.place >= machine.places[address.server];
}

bool zkl_address_is_hole(zkl_address address) {
    return has(machine.holes, address.server) && address.place <= machine.holes_place;
}

bool zkl_machine_opens(void) {
    if (machine.opens_fail == 0) {
        return true;
    }
    machine.opens_fail--;
    return false;
}

static void wait_for(int64_t us) {
    if (us > 0) {
        zkl_world_sleep_us(us);
    }
}

void zkl_machine_is_opening(void) {
    wait_for(machine.opens_take_us);
}

bool zkl_machine_looks_up(uint32_t servers, char *text, size_t size) {
    size_t length = 0;
    machine.looked_up++;
    wait_for(machine.names_take_us);
    if (zkl_world_now_us() < machine.names_fail_until_us) {
        return false;
    }
    for (uint32_t i = 0; i < servers; i++) {
        if (has(machine.servers, i)) {
            char one[ZKL_ADDRESS_SIZE];
            zkl_address_write((zkl_address){ .server = i, .place = machine.place }, one,
                              sizeof(one));
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? "," : "", one);
        }
    }
    return length > 0;
}
