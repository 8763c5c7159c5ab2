/* The names of the library's fields: its messages use them, while people know settings and options.
 */
#pragma once

#include <stddef.h>

/** Copies a message of the library, with the names of settings for those of fields. Quoted text
 *  stays as it is, since it may come from others. What does not fit is left out. */
void field_names_translate(char *to, size_t size, const char *message);
