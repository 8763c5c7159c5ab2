"""What the harness knows of a lock. Each family has a table of its own."""
from dataclasses import dataclass

# What theory says of a mechanism in an experiment, by the experiment's name; what is not named is not judged.
# SAFE: harm in no round. HARMFUL: harm in some round; if none shows it, the experiment is too weak.
SAFE, HARMFUL = "safe", "harmful"
# Of a waiter's place in a queue.
LEASED, FOR_EVER = "leased", "for ever"


def profile(safe, harmful):
    return {**dict.fromkeys(safe.split(), SAFE), **dict.fromkeys(harmful.split(), HARMFUL)}


# A shop that looks for its order's number sells it once, and one that does not sells it twice, whatever locks it. A
# lock that has been given back is free, whether or not its holder hears so.
ANY = profile("commit-reply-lost release-reply-lost", "commit-reply-lost-new-order")
# Nobody is excluded, and nobody waits.
NOBODY = {**ANY, **profile("holder-killed lost-with-its-machine waiter-killed forgotten opposite-orders"
                           " counter-goes-back",
                           "rush holder-stopped late-write work-too-long orders-of-two one-ticket")}
# The database is the lock: what it grants lasts as long as the transaction, or the connection.
DATABASE = {**ANY, **profile("rush holder-killed holder-stopped late-write work-too-long waiter-killed"
                             " opposite-orders orders-of-two one-ticket", "forgotten lost-with-its-machine")}
# A lock that passes on only if its holder gives it back.
STAYS = {**ANY, **profile("rush holder-stopped late-write work-too-long cut-off strangers-unlock waiter-killed"
                          " servers-clock buyers-clock orders-of-two one-ticket",
                          "holder-killed lost-with-its-machine forgotten taken-twice reply-lost server-restarted"
                          " opposite-orders")}
# A lock that passes on after its time-out, with nobody to say so to a late holder.
PASSES_ON = {**ANY, **profile("rush holder-killed lost-with-its-machine waiter-killed waiter-gives-up forgotten reply-lost two-servers-down"
                              " buyers-clock strangers-unlock opposite-orders orders-of-two one-ticket",
                              "holder-stopped late-write work-too-long cut-off taken-twice server-restarted"
                              " majority-forgets primary-lost servers-clock")}
EXPIRES = {**PASSES_ON, **profile("timeout-100-p99", "timeout-half-p99")}
# The same, but its holder renews it for as long as it runs.
RENEWED = {**PASSES_ON, **profile("work-too-long", "forgotten opposite-orders")}
# A lock that its servers keep for as long as they hear of its holder's session; a quorum does not forget it, nor what
# it has counted: it answers when its log is on the disk.
SESSION = {**ANY, **profile("rush holder-killed work-too-long waiter-killed waiter-gives-up crowd-leaves strangers-unlock"
                            " leader-killed counter-goes-back buyers-clock orders-of-two one-ticket",
                            "holder-stopped late-write cut-off forgotten taken-twice opposite-orders")}
# The same, and the holder asks its own client before it writes.
SESSION_LOOKED_AT = {**SESSION, **profile("holder-stopped cut-off", "")}


@dataclass(frozen=True, eq=False)
class Mechanism:
    name: str               # what --only and the tables call it
    title: str              # for the page
    program: str            # buyer_PROGRAM; with a command it is other_process
    source: str             # the documentation, or the article, whose behaviour it has
    servers: str = "none"   # which of the bench's servers it needs: none, redis, redis-5, zookeeper, etcd, ...
    database: str = "postgresql"
    locks_tables: bool = False  # of the stock: it has a database of its own, and one round at a time
    takes_both: bool = False  # locks of an order at once, or neither: no order has one of them only
    command: str = ""       # of a lock in another language
    files: tuple = ()       # what its complexity is counted of, in the family's folder
    token: str = ""         # where its fencing token comes from; "": it has none
    theory: dict = None     # experiment: SAFE or HARMFUL, without a fence
    stop_point: bytes = b""  # of a request before which its holder is killed: between two commands
    asks: bytes = b""       # of the request that takes the lock: its reply is lost
    gives_back: bytes = b""  # of the request that gives it back
    timeout_ms: int = 1000  # of the lock, in rounds that do not choose their own
    queues: str = ""        # how long a silent waiter keeps its place in the queue: LEASED, FOR_EVER; "": no queue
    shares: bool = False    # several are at work on a product at once, by intent
    ours: bool = False
    cannot: str = ""        # why it cannot be had here; it is a row all the same

    def expects(self, experiment, fence):
        """SAFE, HARMFUL, or None: theory does not say. A fence refuses late writes; it lets nobody in sooner."""
        theory = (self.theory or {}).get(experiment)
        return SAFE if fence and theory == HARMFUL and experiment in FENCED else theory


# The harm of these is a write of who is not the last that came in; a fence refuses it.
FENCED = ("rush", "orders-of-two", "one-ticket", "holder-stopped", "late-write", "work-too-long", "cut-off",
          "timeout-half-p99", "packets-lost", "minority-partition", "servers-clock")
