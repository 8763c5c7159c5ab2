"""What the peers are made to do, and how it is measured: slices of each peer in turn, so that drift cancels."""
import json
import sys
import time

from . import ratios, servers
from .children import Child, Ended, Proxy, command_of

PEERS = ["raw", "zklock", "curator", "kazoo", "naive", "fifo"]
QUEUES = ["raw", "zklock", "curator", "kazoo", "naive"]
FAST_QUEUES = ["raw", "zklock", "curator"]
OPCODES = {"1": "create", "2": "delete", "3": "exists", "4": "get", "5": "set", "8": "list", "9": "sync", "12": "list",
           "14": "multi", "15": "create", "18": "remove watch", "21": "create", "103": "remove watch"}


def timed(name, title, peers, delayed=False, **words):
    """A `run` of each peer in each slice. sessions and threads are words of it; so are those of driver.c."""
    return {"kind": "timed", "name": name, "title": title, "peers": peers, "delayed": delayed, "words": words}


def hand_off(sessions, peers, delayed=False):
    where = "-delayed" if delayed else ""
    return timed(f"hand-off-{sessions}{where}", f"one resource, {sessions} sessions", peers, delayed,
                 sessions=sessions, threads=sessions)


def counted(threads, sessions):
    """Requests by opcode, from a proxy without delay; its times are of no interest."""
    return {"kind": "counted", "name": f"opcodes-{threads}", "title": f"{threads} waiters, by opcode",
            "peers": FAST_QUEUES, "words": {"sessions": sessions, "threads": threads, "count": max(3 * threads, 200)}}


def all_works(quick):
    few = ["raw", "zklock"]
    distant = FAST_QUEUES if quick else QUEUES
    return [
        timed("pair", "uncontended pair", QUEUES, sessions=1, threads=1),
        timed("pair-delayed", "uncontended pair", distant, True, sessions=1, threads=1),
        {"kind": "blocked try", "name": "try", "title": "blocked try", "peers": ["zklock", "curator", "kazoo"],
         "words": {"count": 100}},
        *(hand_off(sessions, QUEUES) for sessions in (2, 8, 32)),
        hand_off(128, FAST_QUEUES),
        *([] if quick else [timed("hand-off-1000", "one resource, 1,000 waiters on 40 sessions", FAST_QUEUES,
                                  sessions=40, threads=1000)]),
        *(hand_off(sessions, distant, True) for sessions in ((4, 16) if quick else (2, 4, 16))),
        *([] if quick else [hand_off(128, FAST_QUEUES, True)]),
        counted(8, 8), counted(128, 32), *([] if quick else [counted(1000, 40)]),
        # Not kazoo: a reader of its 2.8 waits for later writers too, and they for it.
        timed("read-write", "90 readers to 10 writers, 8 sessions", ["zklock", "curator"],
              sessions=8, threads=8, mixed=1),
        timed("semaphore", "3 permits, 8 sessions", ["zklock", "curator", "kazoo"], sessions=8, threads=8, permits=3),
        timed("resources", "1,000 resources, 64 threads, 4 sessions", ["raw", "zklock", "curator", "kazoo"],
              sessions=4, threads=64, resources=1000),
        timed("cohort", "one resource, 8 threads of one session, which lends", ["fifo", "zklock", "curator"], lends=1,
              sessions=1, threads=8),
        timed("retained", "retained pair, beside a mutex of this process", ["fifo", "zklock"], lends=1,
              sessions=1, threads=1),
        {"kind": "leader killed", "name": "recovery", "title": "longest time without a grant when the leader is killed",
         "peers": ["zklock", "curator", "kazoo"], "words": {"sessions": 2, "threads": 2}},
        {"kind": "many", "name": "held", "title": "locks held by four clients", "peers": few, "command": "hold",
         "words": {"sessions": 4}, "count": 2000 if quick else 100000, "most_slices": 2 if quick else 8},
        {"kind": "many", "name": "queued", "title": "waiters of one client on one resource", "peers": few,
         "command": "queue", "words": {"sessions": 1}, "count": 1000 if quick else 10000,
         "most_slices": 2 if quick else 100},
    ]


class Bench:
    def __init__(self, options, ensemble):
        self.options = options
        self.ensemble = ensemble
        self.slices = options.slices
        self.children = {}
        self.failed = []
        self.maker = self.start("raw")
        self.maker.ask(f"open sessions=1 hosts={ensemble.hosts[0]}")
        self.proxies = {}

    def start(self, peer):
        return Child(peer, command_of(peer, self.options.build))

    def child(self, peer):
        if peer not in self.children:
            self.children[peer] = self.start(peer)
            self.warm_up(peer)
        return self.children[peer]

    def warm_up(self, peer):
        """Java compiles what runs often."""
        self.make(f"warm-{peer}")
        self.open([peer], self.ensemble.hosts, 2)
        self.children[peer].ask(f"run resource=warm-{peer} threads=2 count=20000 milliseconds={self.options.warm_ms}")
        self.close([peer])

    def proxy(self, delay_ms):
        if delay_ms not in self.proxies:
            self.proxies[delay_ms] = Proxy(self.options.build, delay_ms, self.ensemble.hosts)
        return self.proxies[delay_ms]

    def end(self):
        for child in [*self.children.values(), *self.proxies.values(), self.maker]:
            child.end()

    # ---- One work ----------------------------------------------------------------------------------

    def measure(self, work):
        """None where nobody is there to do it. A peer that fails is out from there on."""
        while peers := [peer for peer in work["peers"] if peer in self.options.peers]:
            print(f"bench/run: {work['name']}: {work['title']}", file=sys.stderr)
            try:
                return self.measure_with(work, peers)
            except Ended as ended:
                print(f"bench/run: {ended}", file=sys.stderr)
                self.forget(ended.name)
        return None

    def forget(self, name):
        """The others' sessions are still open, perhaps in the middle of something: they begin anew."""
        if name not in self.options.peers:
            raise SystemExit(1)
        self.options.peers.remove(name)
        self.failed.append(name)
        for child in self.children.values():
            child.process.kill()
            child.process.wait()
        self.children.clear()

    def measure_with(self, work, peers):
        began = time.monotonic()
        measures = {"timed": self.measure_timed, "counted": self.measure_counted, "many": self.measure_many,
                    "blocked try": self.measure_try, "leader killed": self.measure_recovery}
        result = {"name": work["name"], "title": work["title"], "kind": work["kind"],
                  "delay_ms": self.options.delay if work.get("delayed") else 0,
                  "words": work.get("words", {}), "count": work.get("count"),
                  "peers": measures[work["kind"]](work, peers)}
        result["took_s"] = round(time.monotonic() - began, 1)
        return result

    def open(self, peers, hosts, sessions, **more):
        words = "".join(f" {key}={value}" for key, value in more.items())
        for peer in peers:
            self.child(peer).ask(f"open sessions={sessions} hosts={','.join(hosts)}{words}")

    def close(self, peers):
        for peer in peers:
            self.child(peer).ask("close")

    def make(self, resource, resources=1):
        """The parents are there before: Curator's would be containers, which the servers remove and it makes anew."""
        self.maker.ask(f"make resource={resource} resources={resources}")

    def slice(self, peer, line, proxy):
        before = servers.counters(self.ensemble.hosts)
        if proxy is not None:
            proxy.counts()
        used_us = self.ensemble.cpu_us()
        answer = self.child(peer).ask(line)
        used_us = self.ensemble.cpu_us() - used_us
        counts = {**servers.since(before, self.ensemble.hosts), "server_cpu_us": used_us}
        return summary(answer, counts, proxy.counts() if proxy is not None else {})

    def slices_of(self, peers, line_of, proxy, slices):
        """The first slice of each only warms up. Each second goes through the peers in reverse."""
        results = {peer: [] for peer in peers}
        for number in range(slices + 1):
            for peer in peers if number % 2 == 0 else reversed(peers):
                result = self.slice(peer, line_of(peer), proxy)
                if number > 0:
                    results[peer].append(result)
        return results

    def measure_timed(self, work, peers):
        words = dict(work["words"])
        sessions = words.pop("sessions")
        proxy = self.proxy(self.options.delay) if work["delayed"] else None
        milliseconds = self.options.slice_ms * (3 if work["delayed"] else 1)
        self.open(peers, proxy.hosts if proxy else self.ensemble.hosts, sessions, lends=words.pop("lends", 0))
        for peer in peers:
            self.make(f"{work['name']}-{peer}", words.get("resources", 1))
        rest = "".join(f" {key}={value}" for key, value in words.items())
        results = self.slices_of(
            peers, lambda peer: f"run resource={work['name']}-{peer} milliseconds={milliseconds} count=20000{rest}",
            proxy, self.slices)
        self.close(peers)
        return results

    def measure_counted(self, work, peers):
        words = work["words"]
        proxy = self.proxy(0)
        self.open(peers, proxy.hosts, words["sessions"])
        for peer in peers:
            self.make(f"{work['name']}-{peer}")
        results = self.slices_of(
            peers, lambda peer: f"run resource={work['name']}-{peer} threads={words['threads']} count={words['count']}",
            proxy, 2)
        self.close(peers)
        return results

    def measure_try(self, work, peers):
        count = work["words"]["count"]
        results = {}
        self.open(peers, self.ensemble.hosts, 2)
        for peer in peers:
            child = self.child(peer)
            self.make(f"try-{peer}")
            child.ask(f"hold_one resource=try-{peer}")
            before = servers.counters(self.ensemble.hosts)
            answer = child.ask(f"try resource=try-{peer} count={count}")
            counts = servers.since(before, self.ensemble.hosts)
            child.ask("drop_one")
            results[peer] = [{"grants": answer["grants"], "reads": counts["reads"] / count,
                              "writes": counts["writes"] / count, "bytes": counts["bytes"] / count}]
        self.close(peers)
        return results

    def measure_many(self, work, peers):
        """The peers' clients are new in each slice, so that nothing of an earlier one counts as theirs. They use the
        same parents: others for each would take more than the servers' memory."""
        results = {peer: [] for peer in peers}
        count, sessions = work["count"], work["words"]["sessions"]
        if work["command"] == "hold":
            for session in range(sessions):
                self.make(f"{work['name']}-{session}", count // sessions)
        else:
            self.make(work["name"])
        for number in range(min(self.slices, work["most_slices"])):
            for peer in peers if number % 2 == 0 else reversed(peers):
                child = self.start(peer)
                child.ask(f"open sessions={sessions} hosts={self.ensemble.hosts[0]}")
                answer = child.ask(f"{work['command']} resource={work['name']} count={count} moves={min(count // 5, 500)}")
                if work["command"] == "hold":
                    child.ask("drop")
                child.ask("close")
                child.end()
                moved = answer.get("moves", 0)
                results[peer].append({
                    "grants": count, "seconds": answer["seconds"], "bytes_each": answer["bytes_each"],
                    "cpu_us": answer["cpu_seconds"] * 1e6 / count, "all_serve": self.ensemble.all_serve(),
                    "move_us": answer["move_seconds"] * 1e6 / moved if moved else None})
        return results

    def measure_recovery(self, work, peers):
        """All at once: each meets the same election."""
        results = {peer: [] for peer in peers}
        words = work["words"]
        for number in range(self.options.kills):
            self.open(peers, self.ensemble.hosts, words["sessions"], apart=0)
            leader = self.ensemble.leader()
            for peer in peers:
                self.make(f"recovery-{number}-{peer}")
            for peer in peers:
                self.child(peer).tell(f"run resource=recovery-{number}-{peer} threads={words['threads']} "
                                      "milliseconds=8000 tolerant=1")
            time.sleep(2)
            self.ensemble.call("kill", leader)
            for peer in peers:
                answer = json.loads(self.child(peer).answer())
                results[peer].append({"grants": answer["grants"], "longest_gap_ms": answer["longest_gap_ms"]})
            self.ensemble.call("start", leader)
            self.close(peers)
        return results


def summary(answer, counts, opcodes):
    grants = max(answer["grants"], 1)
    result = {"grants": answer["grants"], "rate": answer["grants"] / answer["seconds"],
              "cpu_us": answer["cpu_seconds"] * 1e6 / grants,
              "pair_p50_us": ratios.percentile(answer["pairs_us"], 50),
              "pair_p90_us": ratios.percentile(answer["pairs_us"], 90),
              "hand_off_p50_us": ratios.percentile(answer["hand_offs_us"], 50),
              "hand_off_p90_us": ratios.percentile(answer["hand_offs_us"], 90),
              "requests": (counts["reads"] + counts["writes"]) / grants,
              **{name: value / grants for name, value in counts.items()}}
    by_opcode = {}
    for opcode, number in opcodes.items():
        if opcode != "bytes":
            name = OPCODES.get(opcode, f"opcode {opcode}")
            by_opcode[name] = by_opcode.get(name, 0) + number / grants
    if by_opcode:
        result["opcodes"] = by_opcode
    return result
