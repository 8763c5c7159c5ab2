from ...harness.mechanism import DATABASE, EXPIRES, HARMFUL, NOBODY, SAFE, STAYS, Mechanism, profile

FAMILY = "no lock, and the database itself"
# What lets others in beside whoever is at work, and refuses the second write.
NO_WAIT = {**DATABASE, "forgotten": SAFE, "taken-twice": SAFE, "lost-with-its-machine": SAFE}
# Taken once more it is the same one, and the first release ends it; or it counts.
OPENS, COUNTS = {**DATABASE, "taken-twice": HARMFUL}, {**DATABASE, "taken-twice": SAFE}
# Work that takes longer than the time-out is in vain, as is a write of who was stopped.
IDLE = {**OPENS, "forgotten": SAFE, "lost-with-its-machine": SAFE}
# A service of one process ends as a whole: what a mutex does then cannot be shown with several.
ONE_PROCESS = profile("rush holder-stopped work-too-long orders-of-two one-ticket commit-reply-lost",
                      "opposite-orders commit-reply-lost-new-order")
ROW = "juejin.cn/post/7340898858556915712"
LEASE = "the usual upsert; by the database's clock, as ShedLock's usingDbTime"
SHARED = "spring-integration, commit 40404f4cf20f"


def both(name, title, program, source, source_mariadb, theory, file, file_mariadb=None, parts=(), program_mariadb=None,
         locks_tables=False, gives_back=b""):
    """PostgreSQL's, and MariaDB's."""
    return [
        Mechanism(name, f"{title} (PostgreSQL)", program, source, files=(file, *parts), theory=theory,
                  locks_tables=locks_tables, gives_back=gives_back),
        Mechanism(f"{name}-mariadb", f"{title} (MariaDB)", program_mariadb or f"{program}_mariadb", source_mariadb,
                  database="mariadb", files=(file_mariadb or file, *parts), theory=theory,
                  locks_tables=locks_tables, gives_back=gives_back),
    ]


MECHANISMS = [
    Mechanism("no-lock", "read, then write", "no_lock", "-", files=("no_lock.c",), theory=NOBODY),
    Mechanism("mutex", "a mutex, several processes", "mutex", "POSIX, pthread_mutex_lock", files=("mutex.c",),
              theory={**NOBODY, "taken-twice": HARMFUL}),
    Mechanism("mutex-one-process", "a mutex, one process", "mutex_one_process", "POSIX, pthread_mutex_lock",
              files=("mutex_one_process.c",), theory=ONE_PROCESS),
    Mechanism("conditional-update", "UPDATE … WHERE units >= 1", "conditional_update", "SQL",
              files=("conditional_update.c",), theory=NO_WAIT),
    *both("lock-row", "a row, deleted to unlock", "lock_row", ROW, ROW, STAYS, "lock_row.c", parts=("lock_table.c",),
          gives_back=b"DELETE FROM lock_row"),
    *both("lease-row", "a row with expire_at", "lease_row", LEASE, LEASE, EXPIRES, "lease_row.c", "lease_row_mariadb.c",
          parts=("lock_table.c",), gives_back=b"DELETE FROM lock_lease"),
    *both("lease-row-shared-owner", "a row with expire_at, one owner name for all", "lease_row_shared_owner", SHARED, SHARED,
          NOBODY, "lease_row.c", "lease_row_mariadb.c", parts=("lock_table.c",)),
    *both("row-for-update", "SELECT … FOR UPDATE", "row_for_update", "PostgreSQL 15, Explicit Locking", "MariaDB, FOR UPDATE",
          OPENS, "row_for_update.c"),
    Mechanism("row-for-update-idle", "SELECT … FOR UPDATE, and idle_in_transaction_session_timeout", "row_for_update_idle",
              "PostgreSQL 15, Client Connection Defaults", files=("row_for_update.c",), theory=IDLE),
    *both("table-lock", "table lock", "table_lock", "PostgreSQL 15, LOCK", "MariaDB, LOCK TABLES", OPENS,
          "table_lock.c", "table_lock_mariadb.c", locks_tables=True),
    *both("optimistic-version", "a version, and retries", "optimistic_version",
          "Fowler, Optimistic Offline Lock", "Fowler, Optimistic Offline Lock", NO_WAIT, "optimistic_version.c"),
    *both("advisory-lock", "advisory lock", "advisory_lock", "PostgreSQL 15, Advisory Locks", "MariaDB, GET_LOCK", COUNTS,
          "advisory_lock.c", "get_lock.c", program_mariadb="get_lock", gives_back=b"pg_advisory_unlock|RELEASE_LOCK"),
]
