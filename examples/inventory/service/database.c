#include "database.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool is_cut; /* the whole process is, from its database */

static const database_kind *kind_of(const char *where) {
    bool is_url = strncmp(where, "postgresql://", strlen("postgresql://")) == 0 ||
                  strncmp(where, "postgres://", strlen("postgres://")) == 0;
    return is_url ? &database_postgresql : &database_sqlite;
}

database_status database_open(const char *where, database **opened) {
    const database_kind *kind = kind_of(where);
    database_status status = DATABASE_ERROR;
    *opened = kind->open(where, &status);
    if (*opened != NULL) {
        (*opened)->kind = kind;
    }
    return *opened != NULL ? status : DATABASE_ERROR;
}

void database_close(database *self) {
    if (self != NULL) {
        self->kind->close(self);
    }
}

void database_give_up(database *self) {
    self->is_given_up = true;
}

void database_cut(bool cut) {
    is_cut = cut;
}

static bool is_out_of_reach(const database *self) {
    return self->is_given_up || is_cut;
}

const char *database_error(const database *self) {
    return self == NULL        ? "out of memory"
           : self->is_given_up ? "the service ends"
           : is_cut            ? "it was cut off, as a demonstration"
                               : self->kind->error(self);
}

database_status database_run(database *self, const database_call *call, int64_t *changed) {
    int64_t ignored = 0;
    return is_out_of_reach(self)
               ? DATABASE_ERROR
               : self->kind->run(self, call, changed != NULL ? changed : &ignored);
}

database_status database_execute(database *self, const char *sql) {
    return is_out_of_reach(self) ? DATABASE_ERROR : self->kind->execute(self, sql);
}

database_status database_begin(database *self) {
    return database_execute(self, self->kind->begin);
}

database_status database_commit(database *self) {
    return database_execute(self, "COMMIT");
}

/* Ends the transaction also where the process is cut off, as a server does then. */
void database_roll_back(database *self) {
    if (!self->is_given_up) {
        (void)self->kind->execute(self, "ROLLBACK");
    }
}

const char *database_row_text(const database_row *row, int column) {
    return row->of->kind->row_text(row, column);
}

int64_t database_row_number(const database_row *row, int column) {
    return strtoll(database_row_text(row, column), NULL, 10);
}
