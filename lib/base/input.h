/* Checks what the application passes in. Each check returns ZKL_OK, or
 * ZKL_INVALID_ARGUMENT, and then leaves a message that names the input and the
 * rule for zkl_error_message. */
#ifndef ZKLOCK_INPUT_H
#define ZKLOCK_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** Splits "host:port,...[/chroot]". `chroot` points into `hosts`; "" if there
 *  is none; `servers_length` is what comes before it. */
int zkl_input_check_hosts(const char *hosts, size_t *servers_length, const char **chroot);
int zkl_input_check_root(const char *root);
int zkl_input_check_label(const char *label);
/** `what`: it is the note of a lock, or the candidate of an election. */
int zkl_input_check_note(const char *what, const char *note);
int zkl_input_check_resource_class(const char *name);
int zkl_input_check_owner(const char *owner);
/** A resource: a name, or an absolute path. */
int zkl_input_check_resource(const char *resource);
/** An absolute path, of at most ZKL_TRANSACTION_PATH_MAX bytes. */
int zkl_input_check_node_path(const char *path);
/** ZKL_PERMIT for a handle with permits, else one of the others. */
int zkl_input_check_mode(zkl_mode mode, unsigned permits);
/** `lowest` <= `value` <= `highest`. */
int zkl_input_check_range(const char *what, int64_t value, int64_t lowest, int64_t highest);
/** The name of a file or directory: not empty, and at most ZKL_FILE_NAME_MAX bytes. */
int zkl_input_check_file_name(const char *what, const char *name);
/** That of a struct that begins with its struct_size: as it is here, or of an earlier version,
 * which had fewer fields. */
int zkl_input_check_struct_size(const char *what, size_t given, size_t known);
/** The caller's struct over the defaults, which stay where it is too short for them, and where it
 * is NULL. `size` is that of the struct as it is here. */
int zkl_input_read_struct(const char *what, const void *given, void *defaults, size_t size);
/** Fills the caller's struct, of which the size was checked, as far as it goes. */
void zkl_input_fill_struct(void *given, const void *filled);
/** Not NULL. */
int zkl_input_check_pointer(const char *what, const void *pointer);

/** Room for a message. */
#define ZKL_MESSAGE_SIZE 640

/** Replaces this thread's message by a copy. NULL: there is none. */
void zkl_input_set(const char *text);

/** Forgets this thread's message, at the beginning of each call. */
void zkl_input_clear(void);

/** Leaves a message: what was wrong with which input; NULL: it has no text. */
__attribute__((format(printf, 3, 4))) void zkl_input_note(const char *what, const char *input,
                                                          const char *format, ...);

/** The same, where that is a mistake of the caller's. */
#define zkl_input_refuse(...) (zkl_input_note(__VA_ARGS__), ZKL_INVALID_ARGUMENT)

/** The message of this thread's last failed check. */
const char *zkl_input_message(void);

#endif
