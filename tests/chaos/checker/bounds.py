"""How long things may take, in nanoseconds: what the contract leaves open, and what a busy machine needs."""
MS = 1000000
S = 1000 * MS

# The servers' times are whole milliseconds, cut off; and the pairs of clocks are taken one clock after the other.
CLOCK = 3 * MS
# Histories are judged so much behind the servers' log: what a line rests on has then been seen.
BEHIND = 10 * MS
# A call that is over has to be scheduled before its return is noted.
CALL = 2 * S
# Servers that take longer for one request have too much to do, and leases may end.
SLOW = 400 * MS
# News of the servers reach a contender that nothing disturbs: a watch's event, a list, a new connection.
NEWS = 4 * S
# A server may lag behind the others by so much while all is well: a try asks one of them.
STALE = 5 * S
# A deletion that is owed is carried out where nothing disturbs it.
DELETION = 5 * S
# The servers end a session that is silent: beyond its timeout they need a tick, and perhaps an election.
EXPIRY = 15 * S
# What is dead is forgotten when nobody can ask about it any more: see World.forget.
MEMORY = 60 * S


def be_patient(factor):
    """On a machine that has too much to do, what has to be scheduled takes so many times as long."""
    global CALL, NEWS, STALE, DELETION, EXPIRY
    CALL, NEWS, STALE, DELETION, EXPIRY = (int(one * factor) for one in (CALL, NEWS, STALE, DELETION, EXPIRY))
