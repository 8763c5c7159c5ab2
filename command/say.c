#include "say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "exit_status.h"
#include "field_names.h"
#include "log_sink.h"
#include "printable.h"

enum { LINE_SIZE = 4096 };

static const char *subcommand;

void say_subcommand(const char *name) {
    subcommand = name;
}

/* Writes a line in one write: two processes of this command, and its child, share the terminal. */
static void write_line(const char *end, const char *format, va_list arguments) {
    char line[LINE_SIZE];
    char text[LINE_SIZE];
    int used = snprintf(line, sizeof(line), "zklock%s%s: ", subcommand != NULL ? " " : "",
                        subcommand != NULL ? subcommand : "");
    vsnprintf(text, sizeof(text), format, arguments);
    printable_copy(line + used, sizeof(line) - (size_t)used - strlen(end) - 1, text);
    log_said(line + used);
    used = (int)strlen(line);
    used += snprintf(line + used, sizeof(line) - (size_t)used, "%s\n", end);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)used);
    (void)ignored; /* there is nobody to tell */
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

void say_status(const char *what, int status) {
    say_status_and(what, status, zkl_error_message());
}

static void write_why(char why[SAY_WHY_SIZE], int status, const char *message) {
    char details[SAY_WHY_SIZE];
    field_names_translate(details, sizeof(details), message);
    bool is_enough = status == ZKL_INVALID_ARGUMENT && details[0] != '\0';
    snprintf(why, SAY_WHY_SIZE, "%.200s%s%.800s", is_enough ? "" : zkl_strerror(status),
             is_enough || details[0] == '\0' ? "" : ". ", details);
}

void say_why(char why[SAY_WHY_SIZE], int status) {
    write_why(why, status, zkl_error_message());
}

void say_status_and(const char *what, int status, const char *message) {
    char why[SAY_WHY_SIZE];
    write_why(why, status, message);
    bool is_named = status == ZKL_INVALID_ARGUMENT && message[0] != '\0';
    say("%s%s%s", is_named ? "" : what, is_named ? "" : ": ", why);
}

int say_usage(const char *format, ...) {
    char end[128];
    snprintf(end, sizeof(end), " (zklock %s%s--help)", subcommand != NULL ? subcommand : "",
             subcommand != NULL ? " " : "");
    va_list arguments;
    va_start(arguments, format);
    write_line(end, format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
}
