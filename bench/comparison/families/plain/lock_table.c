#include "lock_table.h"

#include "../../database.h"

/* Looks first: PostgreSQL warns of a table that exists, on the standard error of each buyer. Of
 * two buyers that make it at the same moment one may fail, as the table then exists. */
void lock_table_make(const char *name, const char *columns) {
    if (database_run("SELECT 1 FROM %s LIMIT 0", name) < 0) {
        (void)database_run("CREATE TABLE IF NOT EXISTS %s (%s)", name, columns);
    }
}
