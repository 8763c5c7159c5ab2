"""All that happened, told to the rules in one order: servers, contenders, nemesis and store."""
import collections
import heapq

from . import bounds
from .contenders import DOWNGRADED, PLACES, RELEASED, Call, Handle, Hold, Process
from .history import Malformed
from .names import READ, WRITE
from .nemesis import Nemesis
from .servers import Servers

AGAIN = bounds.S  # a rule that cannot tell while something disturbs looks again so much later


class World:
    """Follows what happened. `tell(event, *what)` calls the rules."""

    def __init__(self, tell):
        self.tell = tell
        self.now = 0
        self.servers = Servers(self.on_server_event)
        self.nemesis = Nemesis()
        self.processes = {}
        self.handles = {}
        self.holders = {}  # resource: the holds of which somebody believes that they hold
        self.reminders = []
        self.number = 0
        self.healed = None  # since when nothing may disturb any more
        self.bound = 0  # within which everybody is granted then
        self.lines = {"call": self.on_call, "return": self.on_return, "callback": self.on_callback,
                      "start": self.on_start, "end": self.on_end, "session": self.on_session,
                      "fault": self.on_fault, "process": self.on_process, "hurt": self.on_hurt, "rest": self.on_rest,
                      "claimed": self.on_store, "written": self.on_store, "refused": self.on_store,
                      "held": self.on_store, "clock": lambda line: None,
                      "restored": lambda line: None}
        self.next_forgetting = 0
        self.grants = 0
        self.notes = collections.defaultdict(dict)  # what rules remember, by their names

    # ---- Time ---------------------------------------------------------------------------------

    def pass_time(self, now):
        if now > self.now:
            self.now = now
        while self.reminders and self.reminders[0][0] <= self.now:
            due, _, look = heapq.heappop(self.reminders)
            look(due)
        if self.now >= self.next_forgetting:
            self.next_forgetting = self.now + bounds.S
            self.forget()
            self.tell("second")

    def finish(self):
        """Nothing more comes: what is due by now is looked at."""
        self.pass_time(max(self.now, self.servers.now))
        self.tell("finished")

    def remind(self, due, look):
        """Calls look(due) at that time."""
        self.number += 1
        heapq.heappush(self.reminders, (due, self.number, look))

    def forget(self):
        """Nobody asks about what was dead before the oldest call that is under way began."""
        oldest = self.now
        for process in self.processes.values():
            if process.gone is None and process.stopped is not None:
                oldest = min(oldest, process.stopped)
        self.servers.forget(oldest - bounds.MEMORY)

    def undisturbed_since(self, process):
        """Since when no fault has disturbed this process; None: one does."""
        if not process.runs:
            return None
        since = self.nemesis.quiet_since(process)
        if since is None:
            return None
        last_stop = process.stops[-1][1] if process.stops else 0
        return max(since, last_stop, process.begun)

    def quiet_since(self, process):
        """The same, or it has changed its servers or its credentials, which makes it connect again."""
        since = self.undisturbed_since(process)
        return since if since is None else max(since, process.changed)

    def overdue(self, process, since, bound, now, text):
        """Yields the text if the process had `bound` in peace, or else when to look again."""
        quiet = self.quiet_since(process)
        due = now + AGAIN if quiet is None else max(since, quiet) + bound
        yield text if due <= now else due

    def was_quiet(self, process, begin):
        """From `begin` until now."""
        quiet = self.quiet_since(process)
        return quiet is not None and quiet <= begin

    def is_served_slowly(self, process, begin, now):
        """Whether an answer of the servers took long since `begin`, or is still missing."""
        return process.waited_long >= begin or any(
            call.is_round_trip and call.answered is None and call.at + bounds.SLOW < now
            for handle in process.handles for call in handle.calls.values())

    # ---- Servers ------------------------------------------------------------------------------

    def on_transaction(self, at, transaction):
        """Takes a transaction that was prepared at that time, when the lines before it are still BEHIND."""
        self.pass_time(at - bounds.BEHIND)
        if self.servers.restored_over is not None:
            self.servers.end_restore(at)
        self.servers.apply(at, transaction)

    def on_restore(self, at, goes_on, transactions):
        self.pass_time(at - bounds.BEHIND)
        self.servers.begin_restore(goes_on, transactions)
        for name in ("tokens", "terms", "marks"):
            self.notes.pop(name, None)  # they may be lower from now on, or are gone

    def on_server_event(self, event, what):
        if event == "born" and what.who:
            # Histories are behind: the call that asked for it is known a little later.
            self.remind(what.born + bounds.CLOCK, lambda now: self.attribute(what))
        elif event == "died":
            handle = self.handles.get(what.who)
            if handle is not None:
                handle.nodes.pop(what.path, None)
        self.tell(event, what)

    def attribute(self, node):
        """Finds the call that has made a node."""
        handle = self.handles.get(node.who)
        if handle is None:
            return
        if node.died is None:
            handle.nodes[node.path] = node
        handle.names_its_nodes = True
        node.request = self.request_of(node, handle)
        if node.request is not None:
            node.request.first_node = node.request.first_node or node
            node.request.last_node = node
        self.tell("attributed", handle, node)

    def request_of(self, node, handle):
        if node.hold is not None:
            return node.hold.call
        last = handle.last_acquire
        if last is not None and last.at <= node.born + bounds.CLOCK and last.answered >= node.born - bounds.CLOCK:
            begun_later = handle.acquire is None or handle.acquire.at > node.born
            if begun_later or (last.first_node is not None and last.first_node.zxid == node.zxid):
                return last
        return handle.acquire

    # ---- Nemesis ------------------------------------------------------------------------------

    def on_fault(self, line):
        what = line["what"]
        {"begin": self.nemesis.begin, "proven": self.nemesis.prove, "end": self.nemesis.end,
         "healed": self.nemesis.heal}[what](line)
        if what == "begin":
            self.healed = None
            fault = self.nemesis.active[line["fault"]]
            for handle in self.handles.values():
                fault.somebody_held |= handle.hold is not None
                fault.somebody_waited |= handle.acquire is not None

    def on_process(self, line):
        process = self.processes.get(line["process"])
        if process is None or process.gone is not None:
            return
        if line["what"] == "stop":
            process.stopped = line["at"]
        elif line["what"] == "resume":
            process.stops.append((process.stopped, line["at"]))
            process.stopped = None
        elif line["what"] == "kill":
            self.bury(process, line["at"], True)

    def bury(self, process, at, was_killed):
        process.gone, process.was_killed = at, was_killed
        for handle in process.handles:
            if handle.hold is not None:
                self.end_hold(handle.hold, at)
        self.tell("gone", process)
        for handle in process.handles:
            if self.handles.get(handle.who) is handle:
                del self.handles[handle.who]
        process.handles = []

    def on_hurt(self, line):
        self.servers.session(line["session"]).is_hurt = True

    def on_rest(self, line):
        if line["what"] == "healed":
            self.healed, self.bound = line["at"], line["bound_ms"] * bounds.MS
        self.tell("rest", line)

    def on_store(self, line):
        self.tell("stored", line)

    # ---- Contenders ---------------------------------------------------------------------------

    def on_start(self, line):
        process = Process(line["process"], line["host"], line["at"])
        self.processes[line["process"]] = process

    def on_end(self, line):
        process = self.processes[line["process"]]
        if process.gone is None:
            self.bury(process, line["at"], line.get("exit", 0) != 0)

    def on_session(self, line):
        process = self.processes[line["process"]]
        self.note_session(process, line["session"])
        self.tell("session begun", process, line["who"], line["session"])

    def note_session(self, process, number):
        if number not in process.sessions:
            process.sessions.add(number)
            self.servers.session(number).process = process

    def handle_of(self, line):
        who = line["who"]
        handle, process = self.handles.get(who), self.processes.get(line["process"])
        if process is None:
            raise Malformed(f"of a process that has not started: {line}")
        if handle is None or handle.process is not process:
            handle = self.handles[who] = Handle(who, process, line.get("options", {}))
            process.handles.append(handle)
        return handle

    def on_call(self, line):
        handle = self.handle_of(line)
        call = Call(handle, line)
        if call.number in handle.calls:
            self.tell("called_twice", call)
        handle.calls[call.number] = call
        what = call.what
        if what in PLACES:
            handle.acquire = call
            for fault in self.nemesis.active.values():
                fault.somebody_waited = True
        elif what == "release" and handle.hold is not None:
            self.begin_release(handle.hold, call)
        elif what == "downgrade" and handle.hold is not None and handle.hold.mode == WRITE:
            handle.hold.left = WRITE
            handle.hold.mode = READ  # it may only read from here on
        elif what == "close":
            self.begin_close(handle, call)
        elif what == "close_client":
            handle.process.is_closing = True
            for other in handle.process.handles:
                if other.client == handle.client:
                    self.begin_close(other, call)
        elif what in ("set_hosts", "set_credentials"):
            handle.process.changed = line["at"]
        elif what == "break":
            handle.process.breaks = True
        self.tell("called", call)

    def begin_release(self, hold, call):
        call.hold = hold
        if hold.depth > 1:
            hold.depth -= 1
        else:
            self.end_hold(hold, call.at)

    def begin_close(self, handle, call):
        if handle.hold is not None:
            self.end_hold(handle.hold, call.at)
        handle.hold, handle.last_close = None, call.at

    def end_hold(self, hold, at):
        hold.ended = at
        self.forget_holder(hold)

    def forget_holder(self, hold):
        for resource in {node.resource for node in hold.nodes}:
            holders = self.holders.get(resource)
            if holders is not None and hold in holders:
                holders.remove(hold)
                if not holders:
                    del self.holders[resource]

    def on_return(self, line):
        handle = self.handle_of(line)
        if "session" in line:
            self.note_session(handle.process, line["session"])
        if line["what"] == "open":
            handle.options = line.get("options", handle.options)
            handle.library = handle.options.get("library", "zklock")
            handle.client = handle.options.get("client", handle.who)
            handle.closed = None
        call = handle.calls.get(line.get("call", 0))
        if call is None or call.returned is not None:
            self.tell("returned_without_call", handle, line)
            return
        call.returned = line["at"]
        if not call.is_async:
            self.answer(call, line)
        elif line["status"] != "ZKL_OK":
            if call.answered is not None:
                self.tell("called_back_without_call", handle, line)
            self.answer(call, line)
        self.put_away(call)

    def put_away(self, call):
        if call.returned is not None and call.answered is not None:
            call.handle.calls.pop(call.number, None)

    def on_callback(self, line):
        handle = self.handle_of(line)
        if line["what"] == "state":
            self.on_state(handle, line)
            return
        if line["what"] == "leader":
            self.tell("leader told", handle, line)
            return
        call = handle.calls.get(line.get("call", 0))
        if call is None or not call.is_async or call.answered is not None:
            self.tell("called_back_without_call", handle, line)
            return
        if "session" in line:
            self.note_session(handle.process, line["session"])
        self.answer(call, line)
        self.put_away(call)

    def answer(self, call, line):
        """The caller learns how its call ended."""
        call.answered, call.answer = line["at"], line
        call.status = status = line["status"]
        handle, what = call.handle, call.what
        if call.is_round_trip and call.answered > call.at + bounds.SLOW:
            handle.process.waited_long = call.answered
        if what in PLACES:
            if handle.acquire is call:
                handle.acquire = None
                handle.last_acquire = call
            if status == "ZKL_OK":
                self.grant(call, line)
            elif status == "ZKL_LOST":
                self.lose(handle, line["at"], line.get("reason"))
        elif what == "release":
            self.end_release(call, status)
        elif what == "downgrade":
            self.end_downgrade(handle, status)
            if status == "ZKL_LOST":
                self.lose(handle, line["at"], line.get("reason"))
        elif what == "close":
            handle.closed = line["at"]
        elif what == "check" and status in ("ZKL_OK", "ZKL_SUSPECT") and handle.hold is not None:
            self.note_lease(handle.hold, call, line)
        elif what in ("check", "verify", "commit") and status == "ZKL_LOST":
            self.lose(handle, line["at"], line.get("reason"))
        elif what in ("set_hosts", "set_credentials"):
            handle.process.changed = line["at"]
        elif what == "cancel":
            handle.last_cancel = line["at"]
            if status == "ZKL_OK":
                self.note_cancel(handle, call, line["at"])
        self.tell("answered", call)
        self.tell(f"{'acquire' if what in PLACES else what} answered", call)

    def note_cancel(self, handle, cancel, at):
        acquire = handle.acquire
        if acquire is not None and acquire.at < cancel.at:
            acquire.cancelled = at

    def note_lease(self, hold, call, line):
        left = line.get("lease_left_ms", -1)
        if left >= 0:
            hold.believes_until = max(hold.believes_until, call.at + left * 1000000)

    def grant(self, call, line):
        handle = call.handle
        held = handle.hold
        nodes = self.nodes_of(call, line)
        token = line.get("token") or (nodes[0].token if nodes else 0, 0)
        if held is not None and held.token == tuple(token):
            if call.what != "upgrade":
                held.depth += 1
            return
        hold = Hold(call, line, tuple(token), nodes)
        if call.what == "upgrade" and held is not None:
            hold.mode = WRITE
            hold.companion = held.nodes[0] if held.nodes else None
            hold.depth = held.depth
            self.end_hold(held, line["at"])
        self.grants += 1
        for fault in self.nemesis.active.values():
            fault.note_grant(line["at"])
            fault.somebody_held = True
        self.tell("granted", hold)
        handle.hold = hold
        handle.tokens.append(hold.token)
        handle.told_before.discard(hold.token)
        for node in hold.nodes:
            node.note_hold(hold)
            self.holders.setdefault(node.resource, []).append(hold)

    def nodes_of(self, call, line):
        """Those of the grant's nodes that the servers have known."""
        paths = line.get("nodes") or [line[name] for name in ("node",) if name in line]
        if not paths and "token" in line:
            made = self.servers.births.get(line["token"][0], ())
            return [node for node in made if node.resource == call.line.get("resource")]
        if not paths and call.handle.library != "zklock":
            return self.first_of_session(call.line.get("resource"), line.get("session"))
        found = [node for node in map(self.servers.nodes.get, paths) if node is not None]
        if call.takes_all and len(paths) == 1 and found:
            # The grant tells the first one's node: the others are those of the same transaction.
            found = [node for node in found[0].made_with or found if node.resource in call.resources]
        return found

    def first_of_session(self, resource, session):
        """Another library does not tell its node: it is the first of its session in the queue."""
        queue = self.servers.queues.get(resource)
        return [node for node in queue.nodes if node.session == session][:1] if queue is not None else []

    def end_release(self, call, status):
        hold, handle = call.hold, call.handle
        if status == "ZKL_LOST":
            self.lose(handle, call.answered, call.answer.get("reason"))
        if status in RELEASED:
            if hold is not None and hold.ended is not None:
                if handle.hold is hold:
                    handle.hold = None
        elif hold is not None and hold.ended == call.at:
            hold.ended = None  # nothing has changed
            for node in hold.nodes:
                self.holders.setdefault(node.resource, []).append(hold)
        elif hold is not None:
            hold.depth += 1

    def end_downgrade(self, handle, status):
        hold = handle.hold
        if hold is None or hold.left != WRITE:
            return
        hold.left = None
        if status not in DOWNGRADED:
            hold.mode = WRITE

    def on_state(self, handle, line):
        hold = handle.hold
        is_about_it = hold is not None and ("token" not in line or tuple(line["token"]) == hold.token)
        self.tell("told", handle, hold if is_about_it else None, line)
        if line["state"] == "CONTENDED":
            handle.told_contended.append((tuple(line["token"]), line["resource"]))
            return
        if line["state"] == "LOST" and "token" in line:
            handle.told_lost.append(tuple(line["token"]))
        if not is_about_it:
            return
        hold.told = line["state"]
        if line["state"] == "LOST":
            hold.told_lost = line["at"]
            self.lose(handle, line["at"], line.get("reason"))

    def lose(self, handle, at, reason):
        hold = handle.hold
        if hold is None or hold.lost is not None:
            return
        hold.lost, hold.reason = at, reason
        for fault in self.nemesis.active.values():
            fault.losses += 1
        self.forget_holder(hold)
        self.tell("lost", hold)

    # ---- Lines --------------------------------------------------------------------------------

    def on_line(self, line):
        self.pass_time(line["at"])
        try:
            take = self.lines[line["event"]]
        except KeyError as error:
            raise Malformed(f"an unknown event: {line}") from error
        try:
            take(line)
        except (KeyError, TypeError) as error:
            raise Malformed(f"{error!r} in {line}") from error
