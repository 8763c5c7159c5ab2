/* Makes text of others safe for a terminal: a label could otherwise move the cursor, or change the
 * title. */
#pragma once

#include <stddef.h>

/** Copies the text with ? for each control character, each character that breaks a line or changes
 *  the direction of text, and each byte that is not UTF-8. What does not fit is left out, by whole
 *  characters. */
void printable_copy(char *to, size_t size, const char *text);

/** Returns such a copy, for an argument of printf. It is valid until the fourth call after this
 *  one. */
const char *printable(const char *text);
