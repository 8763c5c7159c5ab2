/*
 * A row in a table with a unique key: to insert it is to lock, to delete it is to unlock. Most
 * overviews of distributed locks begin with it (juejin.cn/post/7340898858556915712, for one).
 *
 * The defect: nothing removes the row of a holder that has died.
 *
 * The articles take the error of the duplicate key as "somebody has it". Here the statement does
 * not fail then but changes no row, which tells it from a server that fails.
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"
#include "lock_table.h"

enum { POLL_MS = 100 };

#ifdef PLAIN_MARIADB
#define INSERT_UNLESS_THERE "INSERT IGNORE INTO lock_row (name) VALUES ('%s')"
#else
#define INSERT_UNLESS_THERE "INSERT INTO lock_row (name) VALUES ('%s') ON CONFLICT DO NOTHING"
#endif

static void make_table(void) {
    lock_table_make("lock_row", "name VARCHAR(64) NOT NULL UNIQUE");
}

static void open_lock(const lock_settings *settings) {
    (void)settings;
    make_table();
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    for (;;) {
        int64_t rows = database_run(INSERT_UNLESS_THERE, product);
        if (rows == 1) {
            return LOCK_GRANTED;
        }
        if (rows < 0) {
            make_table();
            return LOCK_UNKNOWN;
        }
        if (clock_is_over() || clock_ms() >= until_ms) {
            return LOCK_BUSY;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)database_run("DELETE FROM lock_row WHERE name = '%s'", product);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
