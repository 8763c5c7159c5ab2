/* Messages for people, on the standard error output. */
#pragma once

/** "zklock SUBCOMMAND: ...", or "zklock: ..." before there is one, and a line's end. One write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A zkl_status, with the message of the call that has just returned it. */
void say_status(const char *what, int status);
/** The same; with another message in place of that one. */
void say_status_and(const char *what, int status, const char *message);

/** Which subcommand `say` names. Static. */
void say_subcommand(const char *name);

/** A mistake in the command line: the message, and where the help is. Returns EXIT_USAGE. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
