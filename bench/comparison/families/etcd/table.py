from ...harness.mechanism import HARMFUL, LEASED, NOBODY, SESSION, Mechanism

FAMILY = "etcd"
# Its shortest lease: two of its election's time-outs.
LEASE_MS = 2000
# A waiter whose lease has ended is granted the lock all the same, and its token is no smaller: no fence tells.
GRANTS_THE_DEAD = {**SESSION, "waiter-lease-ended": HARMFUL}
MECHANISMS = [
    Mechanism("etcd-put", "a put with a lease, without a condition", "etcd_put", "e-com-net.com, article 1223716369237905408",
              "etcd", files=("put.c", "lease.c"), gives_back=b"lease/revoke", token="the revision of the put",
              theory=NOBODY, timeout_ms=LEASE_MS),
    Mechanism("etcd-create-revision", "lease, and create_revision == 0", "etcd_create_revision",
              "overnote/over-golang, etcd part 5", "etcd", files=("create_revision.c", "lease.c"),
              gives_back=b"lease/revoke",
              token="the create revision of its key", theory=SESSION, timeout_ms=LEASE_MS),
    Mechanism("etcd-lock-service", "etcd's own lock service", "etcd_lock_service", "etcd 3.4, API reference: concurrency",
              "etcd", files=("lock_service.c", "lease.c"), gives_back=b"lock/unlock", token="the revision in the answer's header",
              theory=GRANTS_THE_DEAD, timeout_ms=LEASE_MS, queues=LEASED),
]
