/* A table for locks in the stock's database. It is no part of any lock: it makes the table. */
#pragma once

/** Makes the table if it is missing and the database answers; an error is passed over. */
void lock_table_make(const char *name, const char *columns);
