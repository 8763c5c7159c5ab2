/* Text of others, for a terminal: a label could otherwise move the cursor, or change the title. */
#pragma once

#include <stddef.h>

/** Copies the text with ? in place of control characters, of those that break a line or change the
 *  direction of text, and of what is not UTF-8. What does not fit is left out, by whole characters.
 */
void printable_copy(char *to, size_t size, const char *text);

/** The same, for an argument of printf: valid until the fourth call after this one. */
const char *printable(const char *text);
