"""Processes of clients that are killed, stopped, deceived and starved, and sessions that others close."""
import errno
import glob
import os
import re
import signal
import subprocess
import time

from . import wire
from .fault import Fault
from .history import now
from .servers import SESSION_MS
from .slow_disk import SlowDisk
from .waiting import NotSeen, wait_until

HOUR_S = 3600
NS_PER_MS = 1000000


class OfAClient(Fault):
    """One that holds, or one that waits."""

    group = "clients"
    of_contenders = False  # only they bear it, and no program of another library

    @property
    def pid(self):
        return self.process.pid

    def suits(self, member):
        return member.is_hit and (member.is_contender or not self.of_contenders)

    def contends(self, member):
        """Whether something that it holds or waits for is held and waited for."""
        at = now()
        return all(self.world.fleet.met(at, at, [member]))

    def suitable(self, among):
        return [one for one in among() if self.suits(one) and self.contends(one)]

    def choose(self):
        """Somebody who will still hold after the fault, if there is one now."""
        fleet = self.world.fleet
        among = self.chance.choice((fleet.holders, fleet.waiters))
        self.hit = self.chance.choice(self.suitable(fleet.long_holders) or
                                      wait_until(lambda: self.suitable(among), "somebody suits"))
        self.target = f"{self.hit.called}, which {self.hit.doing}"
        self.process = self.hit.process

    def touches(self):
        return [self.hit.host.name]

    def processes(self):
        return [self.pid]

    def members(self):
        return [self.hit]

    def tell(self, what):
        """The checker, what becomes of the process."""
        self.world.history.write("process", what=what, process=self.pid)

    def limit(self, what, value):
        """Only the soft limit, as nobody may raise the hard one again. Returns what it was."""
        asked = ["prlimit", "--pid", str(self.pid), "--raw", "--noheadings", "--output", "SOFT", f"--{what}"]
        before = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        self.set_limit(what, value)
        return before

    def set_limit(self, what, value):
        if self.process.poll() is None:
            subprocess.run(["prlimit", "--pid", str(self.pid), f"--{what}={value}:"], check=True)

    def connected(self):
        """A line for each connection to a server, of the whole machine."""
        return self.hit.host.call("ss", "-Htnp", "state", "established", f"( dport = :{wire.PORT} )").splitlines()

    def ends(self):
        """Its own, of its connections to servers: each is an address with a port."""
        return {line.split()[2] for line in self.connected() if f"pid={self.pid}," in line}


class Killed(OfAClient):
    name = "client killed"
    lasts_s = 1

    def begin(self):
        self.hit.kill()

    def proof(self):
        status = self.process.poll()
        return {"wait status": status} if status == -signal.SIGKILL else {}


class Stopped(OfAClient):
    """For longer than its session, and resumed."""

    name = "client stopped beyond its session"
    pairs = False
    lasts_s = 1

    def begin(self):
        self.session = wait_until(self.living_session, "it has a session that the leader knows")
        wait_until(lambda: self.contends(self.hit), "it holds or waits again")
        self.tell("stop")
        self.hit.signal(signal.SIGSTOP)
        wait_until(lambda: self.hit.kernel_state() == "T", "it stands still", 5)

    def living_session(self):
        session = self.world.servers.session_of(self.pid, self.hit.host)
        return session if session in self.world.servers.alive() else None

    def proof(self):
        """The servers' leader does not know the session any more."""
        stands = self.hit.kernel_state() == "T"
        return {"/proc": "T", "session that is over": f"{self.session:#x}"} \
            if stands and self.session not in self.world.servers.alive() else {}

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.tell("resume")


class OfTheShop:
    """An instance of the inventory service, whose customers order all the time."""

    def choose(self):
        shop = self.world.fleet.shop
        if shop is None:
            raise NotSeen("there is no shop")
        self.hit = self.chance.choice(wait_until(shop.living, "an instance of the shop lives"))
        self.target = self.hit.name
        self.process = self.hit.process

    def contends(self, instance):
        return True

    def members(self):
        return None


class InstanceKilled(OfTheShop, Killed):
    name = "instance of the shop killed"


class InstanceStopped(OfTheShop, Stopped):
    name = "instance of the shop stopped beyond its session"


class ClockStepped(OfAClient):
    """CLOCK_REALTIME of one process, an hour ahead or back."""

    name = "client's clock stepped by an hour"

    def begin(self):
        self.step_s = self.chance.choice((HOUR_S, -HOUR_S))
        self.target += f", {self.step_s:+d} s"
        self.hit.step_clock(self.step_s)

    def proof(self):
        """The file that its clock is shifted by is mapped into it, and shifts another program's."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as maps:
            mapped = self.hit.clock in maps.read()
        shown = subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True, env={
            **os.environ, "LD_PRELOAD": f"{self.world.build}/tests/chaos/chaos_clock.so",
            "COMPARISON_CLOCK": self.hit.clock}).stdout
        shift = int(shown) - int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout)
        return {"mapped": self.hit.clock, "shift_s": shift} if mapped and abs(shift - self.step_s) <= 2 else {}

    def end(self):
        self.hit.step_clock(0)


class NoMoreMemory(OfAClient):
    """What it asks for from now on is refused (RLIMIT_AS)."""

    name = "client's memory limited"
    of_contenders = True

    def begin(self):
        self.before = self.limit("as", 1 << 20)

    def proof(self):
        with open(f"/proc/{self.pid}/limits", encoding="ascii") as limits, \
                open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            limit = int(re.search(r"Max address space\s+(\d+)", limits.read()).group(1))
            size = int(re.search(r"VmSize:\s+(\d+)", status.read()).group(1)) << 10
        return {"limit": limit, "VmSize": size} if size >= limit else {}

    def end(self):
        self.set_limit("as", self.before)


class OutOfMemory(OfAClient):
    """It is ended by the kernel, as its group has no memory left for it."""

    name = "client out of its group's memory"
    of_contenders = True
    lasts_s = 1
    LIMIT = 1 << 16

    def begin(self):
        self.group_of_memory = self.world.memory.group(self.LIMIT)
        self.world.memory.move(self.group_of_memory, self.pid)

    def proof(self):
        if self.process.poll() is None:
            try:
                self.process.send_signal(signal.SIGUSR2)  # to fork takes memory
            except ProcessLookupError:
                pass
        kills = self.world.memory.kills(self.group_of_memory)
        return {"oom_kill": kills, "wait status": self.process.poll()} if kills and self.process.poll() is not None else {}

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        wait_until(lambda: self.world.memory.remove(self.group_of_memory), "its group is empty", 10)


class NoMoreDescriptors(OfAClient):
    """It loses its connection, and may open nothing new."""

    name = "client's descriptors used up"
    of_contenders = True
    pairs = False
    FEW = 3

    def begin(self):
        self.before = self.limit("nofile", self.FEW)
        for end in self.ends():
            self.hit.host.call("ss", "-HKtn", "state", "established", f"( src {end} and dport = :{wire.PORT} )")

    def proof(self):
        """Others on its machine are connected, and it is not."""
        connected = set(re.findall(r"pid=(\d+),", "\n".join(self.connected())))
        with open(f"/proc/{self.pid}/limits", encoding="ascii") as limits:
            limit = int(re.search(r"Max open files\s+(\d+)", limits.read()).group(1))
        others = len(connected - {str(self.pid)})
        return {"limit": limit, "others connected": others} if others and str(self.pid) not in connected else {}

    def end(self):
        self.set_limit("nofile", self.before)


class Forked(OfAClient):
    """In the middle of whatever it does, and the one that is forked keeps its descriptors for some seconds."""

    name = "client forked"
    of_contenders = True
    pairs = False

    def begin(self):
        self.hit.signal(signal.SIGUSR2)

    @staticmethod
    def sockets_of(pid):
        found = set()
        for path in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                link = os.readlink(path)
            except OSError:
                continue
            if link.startswith("socket:"):
                found.add(link)
        return found

    @staticmethod
    def program_of(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                return comm.read()
        except OSError:
            return None

    def proof(self):
        """Another process has the same sockets. It does not live long, so that only its like are looked at."""
        own, program = self.sockets_of(self.pid), self.program_of(self.pid)
        for path in glob.glob("/proc/[0-9]*"):
            pid = int(os.path.basename(path))
            is_like = pid != self.pid and self.program_of(pid) == program
            shared = own & self.sockets_of(pid) if is_like else set()
            if shared:
                return {"process": pid, "sockets": sorted(shared)}
        return {}


class CredentialsRotated(OfAClient):
    """It is given others, and connects again with them while it holds and waits."""

    name = "client's credentials rotated"
    of_contenders = True
    pairs = False
    lasts_s = 1

    def begin(self):
        self.since = {one: one.log_size() for one in self.world.servers.present}
        self.before = self.ends()
        self.hit.set_credentials(f"chaos:{self.number}")

    def proof(self):
        """It has connected anew, and the servers have found its credentials good."""
        new = self.ends() - self.before
        lines = [line for one, since in self.since.items() for line in one.logged("auth success", since)
                 if any(end in line for end in new)]
        return {"connections": sorted(new), "log": lines} if lines and not self.ends() & self.before else {}


class OfADisk(OfAClient):
    """To which it writes its records. That concerns no lock: everybody owes what is due, in time."""

    of_contenders = True
    pairs = False

    def processes(self):
        return []

    def is_hurt(self, write):
        raise NotImplementedError

    def hurt(self):
        """The writes that were, while something that concerns the process was held and awaited."""
        return [one for one in self.hit.writes(self.began)
                if self.is_hurt(one) and all(self.world.fleet.met(one.began, one.ended, [self.hit]))]


class DiskFull(OfADisk):
    name = "client's disk full"

    def begin(self):
        self.shrink()

    def shrink(self):
        """It gets as small as what is on it. Of an empty one a block is left: 0 means that there is no limit."""
        facts = os.statvfs(self.hit.disk)
        self.resize(max(facts.f_blocks - facts.f_bfree, 1) * facts.f_frsize, check=False)  # there may be more on it by now

    def resize(self, size, check=True):
        subprocess.run(["mount", "-o", f"remount,size={size}", self.hit.disk], check=check, stderr=subprocess.DEVNULL)

    def is_hurt(self, write):
        return write.status == "ZKL_SYSTEM" and os.strerror(errno.ENOSPC) in write.message

    def proof(self):
        refused = [one.message for one in self.hurt()]
        if not refused:
            self.shrink()  # what was written at first may have gone again
        return {"records refused": refused} if refused else {}

    def end(self):
        self.resize(self.hit.DISK_BYTES)


class DiskSlow(OfADisk):
    """It takes longer to open a file of it."""

    name = "client's disk slow"
    MS = 1200

    def begin(self):
        self.slow_disk = SlowDisk(self.hit.disk, self.MS / 1000)

    def is_hurt(self, write):
        return write.status == "ZKL_OK" and write.ended - write.began >= self.MS * NS_PER_MS

    def proof(self):
        took = [(one.ended - one.began) // NS_PER_MS for one in self.hurt()]
        return {"ms that records took": took} if took else {}

    def end(self):
        self.slow_disk.end()


class SessionClosed(Fault):
    """Of whoever is first in a queue, by a second client that shows the same number: at the same server or another."""

    group = "clients"
    name = "session closed by another"
    pairs = False
    lasts_s = 1
    TOLD_S = 0.03  # the checker is so much behind the servers' log: before they close it, it has to be told

    def choose(self):
        servers = self.world.servers
        queues = wait_until(self.queues, "somebody is behind somebody in a queue")
        self.queue = self.chance.choice(sorted(queues))
        self.session = min(queues[self.queue])[1]
        self.server = self.chance.choice(servers.present)
        self.target = f"{self.session:#x}, first of {self.queue}, at {self.server.name}"

    def queues(self):
        """Those of at least two: the last digits of each node, and its session."""
        found = {}
        for number, paths in self.world.servers.sessions().items():
            for path in paths:
                found.setdefault(os.path.dirname(path), []).append((path[-10:], number))
        return {path: nodes for path, nodes in found.items() if len(nodes) > 1 and self.world.fleet.is_of(path)}

    def met(self, ended):
        return self.world.fleet.met(self.began, ended, queue=self.queue)

    def begin(self):
        self.world.history.write("hurt", session=f"{self.session:#x}")
        time.sleep(self.TOLD_S)
        wait_until(self.is_closed, f"{self.session:#x} is closed", 10)

    def is_closed(self):
        """The client whose session it is may take it back before it is closed; then it is tried again."""
        try:
            with wire.Session(self.server.address, SESSION_MS, self.session) as session:
                session.close()
        except (NotSeen, ConnectionError):
            pass
        return self.session not in self.world.servers.alive()

    def proof(self):
        gone = self.session not in self.world.servers.alive()
        return {"session that the leader does not know any more": f"{self.session:#x}"} if gone else {}


FAULTS = {one.name: one for one in (Killed, Stopped, InstanceKilled, InstanceStopped, ClockStepped, NoMoreMemory, OutOfMemory,
                                    NoMoreDescriptors, Forked, CredentialsRotated, DiskFull, DiskSlow, SessionClosed)}
