/*
 * A row with an owner and an end, in PostgreSQL: one upsert takes it if it is missing, over, or of
 * the same owner (PostgreSQL 15, INSERT, "ON CONFLICT Clause"; whoever waits asks
 * every 100 ms). The database's clock counts, as in ShedLock with usingDbTime; Spring Integration 5
 * counts by the application's.
 *
 * The defect: a holder that is late does not learn that the row has passed on. And with an owner
 * that processes share, as a name of the host or of the service (PLAIN_SHARED_OWNER), each of them
 * gets the lock at once, as a holder that comes again (spring-integration, commit 40404f4cf20f).
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"
#include "lock_table.h"

#include <inttypes.h>

enum { POLL_MS = 100 };

static const char *owner;
static int64_t timeout_ms;

static void make_table(void) {
    lock_table_make("lock_lease", "name VARCHAR(64) PRIMARY KEY, owner VARCHAR(96) NOT NULL,"
                                  " expire_at TIMESTAMPTZ NOT NULL");
}

static void open_lock(const lock_settings *settings) {
#ifdef PLAIN_SHARED_OWNER
    owner = "shop";
#else
    owner = settings->buyer;
#endif
    timeout_ms = settings->timeout_ms;
    make_table();
}

static int64_t try_once(const char *product) {
    return database_run("INSERT INTO lock_lease (name, owner, expire_at)"
                        " VALUES ('%s', '%s', now() + interval '%" PRId64 " milliseconds')"
                        " ON CONFLICT (name) DO UPDATE"
                        " SET owner = EXCLUDED.owner, expire_at = EXCLUDED.expire_at"
                        " WHERE lock_lease.expire_at < now() OR lock_lease.owner = EXCLUDED.owner",
                        product, owner, timeout_ms);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    for (;;) {
        int64_t rows = try_once(product);
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
    (void)database_run("DELETE FROM lock_lease WHERE name = '%s' AND owner = '%s'", product, owner);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
