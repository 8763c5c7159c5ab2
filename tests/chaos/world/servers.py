"""ZooKeeper's servers of a run, each on a machine of its own, and what can be done to them.

ensemble/server configures and runs each of them, as it does for ensemble/ensemble and in the image. That script itself
knows three servers on the ports of one machine; here there are up to six, on machines, with one more role.
"""
import os
import re
import shutil
import signal
import subprocess

from . import past, wire
from .network import Network
from .waiting import NotSeen, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TICK_MS = 500
# What clients ask for.
SESSION_MS = 4000
VOTERS = (1, 2, 3)
OBSERVER = 4
JOINERS = (5, 6)
# Of a server's data. The disk is memory, and takes as much of it as there are data.
DISK_SIZE = "1g"
# On a machine that is busy: all are started at once, and elect a leader.
ELECTED_WITHIN_S = 90

# Where java says, below the server's place, what its collections have left of its heap; each start begins it anew.
COLLECTIONS = "collections"
SETTINGS = """autopurge.purgeInterval=0
reconfigEnabled=true
standaloneEnabled=false
extendedTypesEnabled=true"""
OPTIONS = " ".join((
    # Servers start often, and a start costs less so.
    "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.preAllocSize=1024",
    f"-Xlog:gc:file={COLLECTIONS}:uptime:filecount=0",
    f"-Dzookeeper.DigestAuthenticationProvider.superDigest={wire.super_digest()}"))


def line_of(number):
    """As the servers' configuration has it, without its number."""
    address = f"10.77.0.{number}"
    role = "observer" if number == OBSERVER else "participant"
    return f"{address}:2888:3888:{role};{address}:{wire.PORT}"


class Server:
    """One machine with one server. Its data and its log stay when it ends."""

    def __init__(self, number, place, output):
        self.number = number
        self.name = f"server-{number}"
        self.host = Network.add(self.name, number)
        self.address = self.host.address
        self.place = os.path.join(place, self.name)
        self.data = os.path.join(self.place, "data")
        self.older = os.path.join(output, self.name, "data")  # on the disk
        self.log = os.path.join(self.place, "log")
        self.collections = os.path.join(self.place, COLLECTIONS)
        self.process = None
        self.losses = 0
        self.since = 0  # the size of its log when it was started
        for path in (self.data, self.older):
            os.makedirs(path)
        self.mount(DISK_SIZE)

    # ---- What it is ------------------------------------------------------------------------------

    def state(self):
        """running, paused or down, as the kernel says."""
        if self.process is None or self.process.poll() is not None:
            return "down"
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            return "paused" if file.read().rpartition(")")[2].split()[0] in "Tt" else "running"

    def told(self):
        """What it says of itself, by name; empty while it does not serve."""
        answer = wire.word(self.address, "srvr") or ""
        return dict(line.split(": ", 1) for line in answer.splitlines() if ": " in line)

    def role(self):
        """leader, follower or observer; None: it does not serve."""
        return self.told().get("Mode")

    def zxid(self):
        return int(self.told().get("Zxid", "0"), 16)

    def log_size(self):
        return os.path.getsize(self.log) if os.path.exists(self.log) else 0

    def logged(self, pattern, since):
        """The lines of its log that match, from that size of it on."""
        with open(self.log, errors="replace", encoding="utf-8") as file:
            file.seek(since)
            return [line.strip() for line in file if re.search(pattern, line)]

    def lacks_an_acl(self):
        """It has ended by itself, for want of an ACL in the snapshot that it got: from that it never starts again
        (ZOOKEEPER-4846, mended in 3.9.4)."""
        return self.state() == "down" and bool(self.logged("Failed to fetch acls", self.since))

    # ---- What is done to it ----------------------------------------------------------------------

    def start(self, known):
        """`known`: the numbers of the servers, from 1 on, of which it is told before it knows better."""
        self.since = self.log_size()
        environment = {**os.environ, "ZKLOCK_JARS": os.environ["ZKLOCK_JARS"], "ZKLOCK_MORE_SETTINGS": SETTINGS,
                       "ZKLOCK_MORE_OPTIONS": OPTIONS}
        command = self.host.inside(f"{TOP}/ensemble/server", str(self.number), self.place, str(TICK_MS),
                                   f"{self.address}:{wire.PORT}", *map(line_of, known))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            env=environment, start_new_session=True)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def end_by(self, number):
        """The status that the kernel gives its end; None: it has never begun."""
        if self.process is None:
            return None
        if self.state() == "paused":
            self.signal(signal.SIGCONT)
        if self.state() != "down":
            self.signal(number)
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self):
        return self.end_by(signal.SIGKILL)

    def stop(self):
        return self.end_by(signal.SIGTERM)

    def pause(self):
        self.signal(signal.SIGSTOP)
        wait_until(lambda: self.state() == "paused", f"{self.name} stands still", 5)

    def resume(self):
        if self.state() == "paused":
            self.signal(signal.SIGCONT)

    # ---- Its disk --------------------------------------------------------------------------------

    def mount(self, size, *options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join((f"size={size}", *options)), "tmpfs", self.data],
                       check=True)

    def free_bytes(self):
        return os.statvfs(self.data).f_bavail * os.statvfs(self.data).f_frsize

    def fill_disk(self):
        """The disk gets as small as what is on it."""
        facts = os.statvfs(self.data)
        self.mount((facts.f_blocks - facts.f_bfree) * facts.f_frsize, "remount")

    def empty_disk(self):
        self.mount(DISK_SIZE, "remount")

    def slow_disk(self, milliseconds):
        subprocess.run([f"{TOP}/ensemble/slow-disk", self.place, str(self.process.pid), str(milliseconds)], check=True)

    def lose_data(self):
        """They are put aside, where the server does not look, and the checker does (../history.md)."""
        self.losses += 1
        os.rename(os.path.join(self.data, past.CURRENT), os.path.join(self.data, f"{past.CURRENT}-lost-{self.losses}"))

    def copy_of_data(self, place):
        shutil.copytree(os.path.join(self.data, "version-2"), place)

    def restore_data(self, place, restores):
        """What it has had is put aside, likewise."""
        aside = os.path.join(self.data, past.until(restores))
        had = [name for name in os.listdir(self.data) if name.startswith(past.CURRENT)]
        os.mkdir(aside)
        for name in had:
            os.rename(os.path.join(self.data, name), os.path.join(aside, name))
        shutil.copytree(place, os.path.join(self.data, past.CURRENT))

    def epoch(self):
        with open(os.path.join(self.data, "version-2", "acceptedEpoch"), encoding="ascii") as file:
            return int(file.read())

    def set_epoch(self, epoch):
        for name in ("currentEpoch", "acceptedEpoch"):
            with open(os.path.join(self.data, "version-2", name), "w", encoding="ascii") as file:
                file.write(f"{epoch}")


class Servers:
    """All of them: three that vote and an observer; two more may join."""

    def __init__(self, place, output):
        """Their data and logs are in `place`; what they do not need any more is moved to `output`."""
        self.all = {number: Server(number, place, output) for number in (*VOTERS, OBSERVER, *JOINERS)}
        self.members = {*VOTERS, OBSERVER}
        self.revived = []  # the names of those that had lost an ACL, each time

    @property
    def present(self):
        return [self.all[number] for number in sorted(self.members)]

    @property
    def hosts(self):
        """The connect string."""
        return ",".join(f"{one.address}:{wire.PORT}" for one in self.present)

    def all_with_role(self, role):
        return [one for one in self.present if one.state() == "running" and one.role() == role]

    def with_role(self, role):
        """There must be one."""
        found = self.all_with_role(role)
        if not found:
            raise NotSeen(f"no server is {role}")
        return found

    def leader(self):
        return self.with_role("leader")[0]

    def start(self, *some):
        """Those, or all that are down."""
        for one in some or self.present:
            if one.state() == "down":
                one.start(range(1, max(OBSERVER, one.number) + 1))

    def serve(self):
        """All of them, and one leads."""
        roles = [one.role() if one.state() == "running" else None for one in self.present]
        return roles.count("leader") == 1 and None not in roles

    def await_service(self):
        wait_until(self.serve_again, "all servers serve", ELECTED_WITHIN_S)

    def serve_again(self):
        for one in self.present:
            if one.lacks_an_acl() and self.can_spare(one):
                one.lose_data()
                self.start(one)
                self.revived.append(one.name)
        return self.serve()

    def can_spare(self, one):
        """All others that vote serve, and have all that it had: so its data may go, as docs/operations.md has it."""
        return all(other.state() == "running" and other.role() in ("leader", "follower")
                   for other in self.present if other is not one and other.number != OBSERVER)

    def heal(self):
        for one in self.present:
            one.resume()
        self.start()
        self.await_service()

    def make_room(self, restores, is_over):
        for one in self.all.values():
            past.make_room(one.data, one.older, restores, is_over)

    def committed(self):
        """After it the leader has committed what had been asked before."""
        with wire.Session(self.leader().address, 4000) as session:
            session.write("/chaos-was-here")
            session.close()

    def sessions(self):
        """By session, the paths of its ephemeral nodes, as the leader lists them."""
        answer = wire.word(self.leader().address, "dump") or ""
        found, current = {}, None
        for line in answer.partition("Sessions with Ephemerals")[2].splitlines():
            if line.startswith("0x"):
                current = int(line.rstrip(":"), 16)
            elif line.strip().startswith("/") and current is not None:
                found.setdefault(current, []).append(line.strip())
        return found

    def session_of(self, pid, host):
        """Of the connection that this process has on that machine, as the server at its other end lists it; None: it has
        none."""
        for line in host.call("ss", "-Htnp", "state", "established", f"( dport = :{wire.PORT} )").splitlines():
            own, its = re.findall(r"([\d.]+)\]?:(\d+)", line)[:2]  # of a program that speaks IPv6: [::ffff:10.77.0.101]:2181
            if f"pid={pid}," in line:
                listed = wire.word(its[0], "cons") or ""
                found = re.search(rf"/{re.escape(':'.join(own))}\[.*\bsid=(0x[0-9a-f]+)", listed)
                return int(found.group(1), 16) if found else None
        return None

    def alive(self):
        """All sessions that the leader knows."""
        answer = (wire.word(self.leader().address, "dump") or "").partition("Sessions with Ephemerals")[0]
        return {int(one, 16) for one in re.findall(r"0x[0-9a-f]+", answer)}
