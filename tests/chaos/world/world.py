"""The world of a run: its machines, its servers, and who locks there."""
import os
import threading
import time

from .history import Follower, History, both_clocks, now
from .memory import Memory
from .network import Network
from .servers import Servers
from .traffic import Traffic
from .waiting import wait_until

CLIENT_MACHINES = 2
FIRST_CLIENT = 101
# Within this everybody has been granted once more when all is well again: a session, an election and the queue.
GRANTED_WITHIN_S = 60
CLOCK_EVERY_S = 1


class World:
    def __init__(self, place, build, name):
        self.place = place
        self.build = build
        self.memory = Memory(name)
        self.network = Network()
        self.servers = Servers(place)
        self.machines = [self.network.add(f"client-{number}", FIRST_CLIENT + number)
                         for number in range(CLIENT_MACHINES)]
        self.histories = os.path.join(place, "histories")
        os.mkdir(self.histories)
        self.history = History(os.path.join(self.histories, "nemesis.jsonl"), "nemesis", os.getpid())
        self.followers = {}
        self.restores = 0
        self.traffic = None

    def start(self):
        threading.Thread(target=self.tell_time, daemon=True).start()
        self.servers.start()
        self.servers.await_service()
        self.traffic = Traffic(self.place, self.histories, f"{self.build}/tests/chaos", self.machines, self.servers.hosts)
        self.await_grants()

    def tell_time(self):
        """Which the servers' transactions have of another clock."""
        while True:
            at, real_ns = both_clocks()
            self.history.write("clock", at=at, real_ns=real_ns)
            time.sleep(CLOCK_EVERY_S)

    def tell_hosts(self):
        """The clients, which servers there are now."""
        self.traffic.set_hosts(self.servers.hosts)

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)

    def await_grants(self):
        """Everybody, once more."""
        before = self.traffic.grants()
        wait_until(lambda: self.traffic.all_granted_since(before), "everybody is granted", GRANTED_WITHIN_S)

    def heal(self):
        """Nothing stands between anybody and the servers, which all serve."""
        self.network.mend()
        self.servers.heal()

    def rest(self):
        """Nothing happens until everybody has been granted once more."""
        self.history.write("rest", what="healed", bound_ms=GRANTED_WITHIN_S * 1000)
        self.await_grants()

    def met(self, began, ended):
        """How many held, and how many waited, at some time between, by their histories."""
        found = [0, 0]
        for path in self.traffic.histories:
            follower = self.followers.setdefault(path, Follower(path))
            follower.read()
            found = [one + more for one, more in zip(found, follower.meeting(began, ended))]
        return found

    def held_and_awaited(self):
        """Whether somebody holds and somebody waits, now."""
        at = now()
        return all(self.met(at, at))

    def end(self):
        if self.traffic is not None:
            self.traffic.end()
        for one in self.servers.all.values():
            one.kill()
        self.memory.end()
