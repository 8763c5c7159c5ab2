/* Messages for people, on the standard error output. */
#pragma once

enum { SAY_WHY_SIZE = 1024 };

/** Says "zklock SUBCOMMAND: ...", or "zklock: ..." before there is one, and ends the line, in one
 *  write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Says a zkl_status, with the message of the call that has just returned it. */
void say_status(const char *what, int status);
/** Writes why the call that has just returned a zkl_status has failed: the status, and the call's
 *  message, if it has one. */
void say_why(char why[SAY_WHY_SIZE], int status);
/** Says a zkl_status, with another message. */
void say_status_and(const char *what, int status, const char *message);

/** Sets the subcommand that `say` names. The text must stay valid. */
void say_subcommand(const char *name);

/** Says what is wrong with the command line, and where the help is. Returns EXIT_USAGE. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
