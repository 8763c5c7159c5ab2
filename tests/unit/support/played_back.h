/* Every record that a unit test makes, whatever it is about, is played back when
 * its recorder is closed: each step must be what the recipe does. */
#ifndef ZKLOCK_TESTS_PLAYED_BACK_H
#define ZKLOCK_TESTS_PLAYED_BACK_H

/** From here on. Before any recorder is opened. */
void played_back_begin(void);

/** Steps that have been played back so far. */
unsigned long played_back_steps(void);

#endif
