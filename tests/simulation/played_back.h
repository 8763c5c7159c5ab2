/* Every record that is made in this process is played back when its recorder is
 * closed: each step must be what the recipe does. */
#pragma once

/** From here on; NULL: no longer. `on_end` is told, when a recorder is closed, what differs, or
 *  NULL: nothing. Not while a recorder is open. */
void played_back_begin(void (*on_end)(const char *difference));

/** Steps that have been played back so far. */
unsigned long played_back_steps(void);
