#include "testing/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing/world.h"

static struct {
    uint32_t place;
    uint32_t oldest_place; /* that leads to the servers */
    uint32_t servers;
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
    machine.oldest_place = 0;
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

void zkl_names_move(void) {
    machine.oldest_place = ++machine.place;
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

zkl_addresses zkl_addresses_read(const char *text) {
    static const char prefix[] = "place-";
    zkl_addresses read = { .place = machine.place, .servers = UINT32_MAX };
    char *rest = NULL;
    if (strncmp(text, prefix, sizeof(prefix) - 1) == 0) {
        unsigned long place = strtoul(text + sizeof(prefix) - 1, &rest, 10);
        if (*rest == '/') {
            read.place = (uint32_t)place;
            read.servers = (uint32_t)strtoul(rest + 1, NULL, 16);
        }
    }
    return read;
}

bool zkl_addresses_lead_somewhere(zkl_addresses addresses) {
    return addresses.place >= machine.oldest_place;
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

bool zkl_machine_looks_up(char *text, size_t size) {
    machine.looked_up++;
    wait_for(machine.names_take_us);
    snprintf(text, size, "place-%u/%x", machine.place, machine.servers);
    return zkl_world_now_us() >= machine.names_fail_until_us;
}
