from ...harness.mechanism import HARMFUL, LEASED, NOBODY, SAFE, SESSION, SESSION_LOOKED_AT, Mechanism

FAMILY = "etcd"
# Its shortest lease: one and a half of its election's time-outs, in whole seconds.
LEASE_MS = 2000
# The holder looks at its key before it writes. So does a waiter whose lease has ended, which is granted the lock all
# the same; and who took it twice, as two locks of a lease are one, and the first release ends it.
LOOKS = {**SESSION_LOOKED_AT, "waiter-lease-ended": SAFE, "taken-twice": SAFE}
# Its server grants nobody who waits any more, once a crowd of waiters has left it (etcd issue 13336).
SERVED = {**LOOKS, "crowd-leaves": HARMFUL}
MECHANISMS = [
    Mechanism("etcd-put", "a put with a lease, without a condition", "etcd_put", "e-com-net.com, article 1223716369237905408",
              "etcd", files=("put.c", "lease.c"), gives_back=b"lease/revoke", asks=b"kv/put", token="the revision of the put",
              theory=NOBODY, timeout_ms=LEASE_MS),
    Mechanism("etcd-create-revision", "lease, and create_revision == 0", "etcd_create_revision",
              "overnote/over-golang, etcd part 5", "etcd", files=("create_revision.c", "lease.c"),
              gives_back=b"lease/revoke", asks=b"kv/txn",
              token="the create revision of its key", theory=SESSION, timeout_ms=LEASE_MS),
    Mechanism("etcd-lock-service", "etcd's own lock service", "etcd_lock_service", "etcd 3.4, API reference: concurrency",
              "etcd", files=("lock_service.c", "lease.c"), gives_back=b"lock/unlock", asks=b"lock/lock",
              token="the create revision of its key, asked for in a request more",
              theory=SERVED, timeout_ms=LEASE_MS, queues=LEASED),
]
