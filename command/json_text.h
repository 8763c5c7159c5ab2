/* What all output in JSON shares. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/** Makes a value of a text of others. If it is no UTF-8 its bytes are taken as Latin-1. */
json_t *json_of_text(const char *text);

/** Makes a value of a session's id, as ZooKeeper writes it: "0x1000b2a3c0d0001"; null for 0, which
 *  is no session. */
json_t *json_of_session(int64_t session_id);

/** Prints the value and drops it. Returns ZKL_OK or ZKL_NO_MEMORY. */
int json_print(json_t *value);
/** Prints the value as one line. Otherwise as json_print(). */
int json_print_line(json_t *value);
