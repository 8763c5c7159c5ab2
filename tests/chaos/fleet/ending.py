"""The end of a run: all of the fleet end by themselves, and nothing of them is left on the servers."""
import re
import signal

from world import wire
from world.waiting import NotSeen, wait_until

# A round, a release of what is held, and the close of all clients.
ENDED_WITHIN_S = 60
# What a process has left that was killed: its session's timeout, a tick, and perhaps an election.
EMPTY_WITHIN_S = 30
# As the servers count them in "mntr"; what each must be.
COUNTS = {"zk_watch_count": "watches", "zk_ephemerals_count": "ephemeral nodes"}


def counts_of(server):
    """By what each is called."""
    told = wire.word(server.address, "mntr") or ""
    found = dict(re.findall(r"^(\w+)\t(\d+)$", told, re.M))
    return {f"{name} at {server.name}": int(found.get(key, -1)) for key, name in COUNTS.items()}


def left_on(servers):
    left = {"sessions": len(servers.alive())}
    for one in servers.present:
        left.update(counts_of(one))
    return left


def is_empty(servers):
    return not any(left_on(servers).values())


def end_of(fleet, world):
    """What was wrong with it, as text. It ends all, whatever it takes."""
    wrong = []
    fleet.finish()
    if fleet.shop is not None:
        wrong += [f"the shop: {one}" for one in fleet.shop.close()]
    for attempt in (lambda: end_by_themselves(fleet), lambda: leave_nothing(world)):
        try:
            attempt()
        except NotSeen as why:
            wrong.append(str(why))
    if fleet.store.finish() != 0:
        wrong.append("the store ended by itself")
    for one in fleet.all:
        wrong += [f"{name} ended with the status {status}" for name, status in one.fallen]
    return wrong


def end_by_themselves(fleet):
    """Within the bound; the others are aborted, which leaves a core where the machine keeps one."""
    def last():
        return [one.called for one in fleet.all if not one.has_ended()]
    try:
        wait_until(lambda: not last(), "all of the fleet end by themselves", ENDED_WITHIN_S)
    except NotSeen as why:
        names = last()
        for one in fleet.all:
            if not one.has_ended():
                one.signal(signal.SIGABRT)
        raise NotSeen(f"{why}: {' '.join(names)}") from why


def leave_nothing(world):
    """The checker judges the counts."""
    try:
        wait_until(lambda: is_empty(world.servers), "nothing is left on the servers", EMPTY_WITHIN_S)
    finally:
        world.history.write("rest", what="empty", left=left_on(world.servers))
