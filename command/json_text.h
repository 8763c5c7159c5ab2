/* What the output in JSON has in common. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/** A text of others, which may be no UTF-8: its bytes are taken for Latin-1 then. */
json_t *json_of_text(const char *text);

/** A session's id, as ZooKeeper writes it: "0x1000b2a3c0d0001". Of none (0): null. */
json_t *json_of_session(int64_t session_id);

/** Prints the value and drops it. Returns ZKL_OK or ZKL_NO_MEMORY. */
int json_print(json_t *value);
