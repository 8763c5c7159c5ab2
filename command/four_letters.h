/* The four-letter words of ZooKeeper's servers: questions without a session, on the clients' port.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_SIZE = 16384, SERVER_NAME_SIZE = 300 };

/** Takes the next "host:port" from a host list, without its chroot. Returns false at the end. */
bool four_letters_next(const char **hosts, char server[SERVER_NAME_SIZE]);

/** Asks one server a word, for `timeout_ms` at most. Returns false if there was no answer; `answer`
 *  is then why. */
bool four_letters_ask(const char *server, const char *word, int timeout_ms,
                      char answer[ANSWER_SIZE]);

/** What follows `name` in a line of the answer, up to the line's end. Returns whether there is one.
 */
bool four_letters_find(const char *answer, const char *name, char *value, size_t size);
