/* What people and programs read about a job of `zklock once`, and how it becomes due again. */
#pragma once

#include "json_text.h"
#include "mark.h"

/** Prints when the job succeeded and failed last, and when it is due. Each line begins with
 *  `indent`. */
void once_print(const mark_content *content, const char *indent);
/** Makes a value of the same; null if there is no mark. */
json_t *once_value(const mark_content *content);

/** Shows the mark of `name`, and who runs the job now. Returns the exit status. */
int once_show(const settings *all, const char *name, bool json);
/** Deletes the mark of the job, under its lock, for which it waits as the job says. Returns the
 * exit status. */
int once_reset(const job *what);
