/* The four-letter words of ZooKeeper's servers: questions without a session, on the clients' port.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_SIZE = 16384, SERVER_NAME_SIZE = 300 };

/** Takes the next "host:port" from a host list, without its chroot. False: there is none left. */
bool four_letters_next(const char **hosts, char server[SERVER_NAME_SIZE]);

/** Sends one server a word, and waits at most `timeout_ms` for the answer. False: there was none,
 *  and `answer` says why. */
bool four_letters_ask(const char *server, const char *word, int timeout_ms,
                      char answer[ANSWER_SIZE]);

/** Finds the line of the answer that begins with `name`, and copies the rest of it. False: there is
 *  no such line. */
bool four_letters_find(const char *answer, const char *name, char *value, size_t size);
