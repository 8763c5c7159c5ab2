/*
 * A row with an owner and an end, in MariaDB: one upsert takes it if it is missing, over, or of the
 * same owner (MariaDB, "INSERT ON DUPLICATE KEY UPDATE"; cnblogs.com/sun-10387834/p/18925663, with
 * the owner in its condition as in Spring Integration 5, DefaultLockRepository, whose pause of
 * 100 ms it has too). The database's clock counts. Then the row is read: whose is it?
 *
 * That article counts changed rows in place of reading. Java's driver does not count those but
 * found ones, unless told to, and so does the shop's connection: everybody would have the lock.
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
                                  " expire_at DATETIME(6) NOT NULL");
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

/* Assignments are made from left to right: the second one sees the owner that is there now. */
static int64_t upsert(const char *product) {
    return database_run(
        "INSERT INTO lock_lease (name, owner, expire_at)"
        " VALUES ('%s', '%s', NOW(6) + INTERVAL %" PRId64 " MICROSECOND)"
        " ON DUPLICATE KEY UPDATE"
        " owner = IF(owner = VALUES(owner) OR expire_at < NOW(6), VALUES(owner), owner),"
        " expire_at = IF(owner = VALUES(owner), VALUES(expire_at), expire_at)",
        product, owner, timeout_ms * 1000);
}

static lock_answer try_once(const char *product) {
    int64_t is_ours = 0;
    if (upsert(product) < 0) {
        make_table();
        return LOCK_UNKNOWN;
    }
    int64_t rows = database_ask(
        &is_ours, 1, "SELECT owner = '%s' FROM lock_lease WHERE name = '%s'", owner, product);
    return rows < 0 ? LOCK_UNKNOWN : is_ours == 1 ? LOCK_GRANTED : LOCK_BUSY;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    lock_answer answer = try_once(product);
    while (answer == LOCK_BUSY && !clock_is_over() && clock_ms() < until_ms) {
        clock_pause_ms(POLL_MS);
        answer = try_once(product);
    }
    return answer;
}

static void release(const char *product) {
    (void)database_run("DELETE FROM lock_lease WHERE name = '%s' AND owner = '%s'", product, owner);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
