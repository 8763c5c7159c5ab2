/* The library names its fields in messages; people know them as settings and options. */
#pragma once

#include <stddef.h>

/** Copies a message of the library, with these names in place of those. What is quoted in it
 *  stays, since it may be of others. What does not fit is left out. */
void field_names_translate(char *to, size_t size, const char *message);
