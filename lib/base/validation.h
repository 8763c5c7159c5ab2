/* Checks what the application passes in. Each check returns ZKL_OK, or ZKL_INVALID_ARGUMENT with a
 * message (error_message.h) that names the input and the rule. NULL is refused unless the
 * comment allows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** Splits "host:port,...[/chroot]". `chroot` points into `hosts`; "" if there
 *  is none; `servers_length` is what comes before it. */
int zkl_validate_hosts(const char *hosts, size_t *servers_length, const char **chroot);
/** Accepts UTF-8 without control characters, of at most `longest` bytes; or NULL. */
int zkl_validate_text(const char *what, const char *text, size_t longest);
/** Accepts the name of a resource class, or NULL. */
int zkl_validate_resource_class(const char *name);
/** Accepts a resource: a name, or an absolute path. */
int zkl_validate_resource(const char *resource);
/** Accepts an absolute path of at most `longest` bytes. */
int zkl_validate_path(const char *what, const char *path, size_t longest);
/** Accepts a mode of a handle, or of a set's member. */
int zkl_validate_mode(zkl_mode mode, bool only_exclusive);
/** Accepts a value with `lowest` <= `value` <= `highest`. */
int zkl_validate_range(const char *what, int64_t value, int64_t lowest, int64_t highest);
/** Accepts the name of a file or directory: not empty, and at most ZKL_FILE_NAME_MAX bytes. */
int zkl_validate_file_name(const char *what, const char *name);
/** Accepts a struct_size, the first field of a caller's struct: that of this version, or of an
 *  earlier one, which had fewer fields. NULL: there is no struct. */
int zkl_validate_struct_size(const char *what, const void *given, size_t known);
/** Copies the caller's struct over the defaults. Fields that it is too short for keep their
 *  defaults; all do if it is NULL. `size`: that of the struct in this version. */
int zkl_struct_read(const char *what, const void *given, void *defaults, size_t size);
/** Fills the fields that the caller's struct has. Its size must have been checked. */
void zkl_struct_fill(void *given, const void *filled);
/** Accepts any pointer but NULL. */
int zkl_validate_pointer(const char *what, const void *pointer);
