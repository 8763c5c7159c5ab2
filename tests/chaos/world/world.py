"""The world of a run: its machines and its servers. Who locks there is handed to it."""
import glob
import os
import shutil
import threading
import time

from . import past
from .history import History, both_clocks, now
from .memory import Memory
from .network import Network
from .servers import Servers
from .waiting import wait_until

CLIENT_MACHINES = 2
FIRST_CLIENT = 101
# Within this everybody has been granted once more when all is well again: a session, an election and the queue.
GRANTED_WITHIN_S = 60
CLOCK_EVERY_S = 1
HISTORIES = "histories"


class World:
    def __init__(self, place, output, build, name):
        """`place` is in memory: whoever is judged writes there only, as a disk that is busy holds up its writers for seconds.
        `output` is on the disk."""
        self.place = place
        self.output = output
        self.build = build
        self.memory = Memory(name)
        self.network = Network()
        self.servers = Servers(place, output)
        self.machines = [self.network.add(f"client-{number}", FIRST_CLIENT + number)
                         for number in range(CLIENT_MACHINES)]
        self.histories = os.path.join(place, HISTORIES)
        self.records = os.path.join(output, "records")
        for path in (self.histories, self.records):
            os.mkdir(path)
        self.history = History(os.path.join(self.histories, "nemesis.jsonl"), "nemesis", os.getpid())
        self.restores = 0
        self.fleet = None
        self.is_over = threading.Event()
        self.clock = threading.Thread(target=self.tell_time, daemon=True)
        self.clock.start()

    def start(self):
        self.servers.start()
        self.servers.await_service()

    def admit(self, fleet):
        """Who locks from now on."""
        self.fleet = fleet
        fleet.start()
        self.await_grants()

    def tell_time(self):
        """Which the servers' transactions have of another clock."""
        while True:
            at, real_ns = both_clocks()
            self.history.write("clock", at=at, real_ns=real_ns)
            if self.is_over.wait(CLOCK_EVERY_S):
                return

    def tell_hosts(self):
        """The clients, which servers there are now."""
        self.fleet.set_hosts(self.servers.hosts)

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)

    def await_grants(self):
        """Everybody, once more."""
        before = self.fleet.grants()
        wait_until(lambda: self.fleet.all_granted_since(before), "everybody is granted", GRANTED_WITHIN_S)

    def heal(self):
        """Nothing stands between anybody and the servers, which all serve."""
        self.network.mend()
        self.servers.heal()

    def rest(self):
        """Nothing happens until everybody has been granted once more."""
        self.keep()
        self.history.write("rest", what="healed", bound_ms=GRANTED_WITHIN_S * 1000)
        self.await_grants()

    def keep(self, is_over=False):
        """On the disk, what has come. All of the others is there that was before the nemesis's last line there: whoever is
        killed in the midst of it leaves that."""
        size = os.path.getsize(self.history.path)
        self.servers.make_room(self.restores, is_over)
        own = os.path.basename(self.history.path)
        for name in os.listdir(self.histories):
            if name != own:
                self.keep_history(name)
        self.keep_history(own, size)
        for one in self.fleet.all if self.fleet is not None else ():
            for path in glob.glob(f"{one.disk}/*.record"):
                shutil.move(path, os.path.join(self.records, os.path.basename(path)))

    def keep_history(self, name, size=None):
        past.keep(os.path.join(self.histories, name), os.path.join(self.output, HISTORIES, name), size)

    def held_and_awaited(self):
        """Whether somebody holds what somebody waits for, now."""
        at = now()
        return all(self.fleet.met(at, at))

    def end(self):
        for one in self.servers.all.values():
            one.kill()
        self.memory.end()
        self.is_over.set()
        self.clock.join()
        self.keep(is_over=True)
