"""The tree of the servers as their transactions make it: the queues, and the life of each node in them."""
import bisect
import collections
import copy

from . import names
from .names import PERMIT, READ, WRITE

BY_ITSELF, BY_HAND, BY_SESSION, BY_DOWNGRADE, BY_RESTORE, BY_RISEN = "deleted by its session", \
    "deleted by another session", "gone with its session", "replaced by a reader's", "not in the backup", \
    "replaced by one that was not committed"
BY_OTHERS = frozenset((BY_HAND, BY_RESTORE, BY_RISEN))
REFUSED = ["other", -1]
FORGOTTEN_AT_ONCE = 1000  # dead nodes, of what is replayed


class Node:
    """A contender's place in a queue."""

    __slots__ = ("path", "resource", "mode", "permits", "sequence", "uuid", "is_lent", "session", "who", "zxid", "born",
                 "token", "entitled", "entitled_at", "behind_reader", "death", "died", "cause", "became", "deleter",
                 "hold", "local_number", "request", "lent_since", "news", "made_with", "is_risen")

    def __init__(self, path, name, session, who, zxid, at, is_risen):
        self.path = path
        self.resource = names.split(path)[0]
        self.mode, self.permits, self.sequence = name.mode, name.permits, name.sequence
        self.uuid, self.is_lent = name.uuid, name.is_lent
        self.session = session
        self.who = who
        self.zxid = self.token = zxid
        self.born = at
        self.is_risen = is_risen  # it was not committed: its client does not know of it
        self.entitled = None  # the zxid from which on nobody was in its way
        self.entitled_at = None
        self.behind_reader = None  # nobody but this reader of its own session was before it
        self.death = self.died = self.cause = self.became = self.deleter = None
        self.hold = None  # the latest that rests on it
        self.local_number = 0  # the greatest that was granted
        self.request = None  # the call that waited when it was made
        self.made_with = ()  # all that its transaction has made, if it has made several
        self.lent_since = None  # (waiter's node, grants since it came), see rules/order.py
        self.news = None  # (local number, when), of the first holder that was told of a waiter; the same

    @property
    def key(self):
        return (self.sequence, self.mode == READ, self.path)

    def lives_at(self, at):
        """Surely: it may have lived for a little longer than the servers' times tell."""
        return self.born <= at and (self.died is None or self.died > at)

    def note_hold(self, hold):
        """The servers are ahead of histories: a reader's node may have come in its place already."""
        node = self
        while node is not None:
            node.hold, node = hold, node.became

    def let_go(self):
        """Nobody asks about it any more. Nodes, holds and calls name each other: Python frees what is in no circle."""
        self.hold = self.request = self.behind_reader = self.lent_since = None
        self.made_with = ()

    def newest(self):
        node = self
        while node.became is not None:
            node = node.became
        return node


class Queue:
    def __init__(self):
        self.nodes = []  # those that live, in order
        self.keys = []
        self.permits = 1

    def add(self, node):
        place = bisect.bisect(self.keys, node.key)
        self.keys.insert(place, node.key)
        self.nodes.insert(place, node)
        self.permits = max(self.permits, node.permits)

    def remove(self, node):
        place = bisect.bisect_left(self.keys, node.key)
        del self.keys[place], self.nodes[place]

    def newly_entitled(self):
        """Those of whom nobody is in the way any more, and was before."""
        readers, others = [], 0
        for node in self.nodes:
            earlier = len(readers) + others
            if node.entitled is None:
                if (others == 0 if node.mode == READ else earlier < (node.permits if node.mode == PERMIT else 1)):
                    yield node
                elif others == 0 and earlier == 1 and readers[0].session == node.session:
                    node.behind_reader = readers[0]
            if node.mode == READ:
                readers.append(node)
            else:
                others += 1
            if others and len(readers) + others >= self.permits:
                return


class Session:
    __slots__ = ("number", "timeout", "closed", "nodes", "process", "is_hurt")

    def __init__(self, number, timeout):
        self.number = number
        self.timeout = timeout
        self.closed = None
        self.nodes = {}
        self.process = None  # whose it is, when a history has told
        self.is_hurt = False  # somebody else has ended it, or shortened its timeout


class Guarded:
    """A transaction that checks a contender's node, and writes something."""

    __slots__ = ("zxid", "at", "session", "checked", "written")

    def __init__(self, zxid, at, session, checked, written):
        self.zxid, self.at, self.session, self.checked, self.written = zxid, at, session, checked, written


class Tree:
    def __init__(self):
        self.nodes = {}  # the latest of each path, for as long as somebody may ask for it
        self.births = {}  # zxid: the nodes that it made, for as long
        self.dead = collections.deque()
        self.queues = {}
        self.sessions = {}
        self.closed = collections.deque()


class Servers(Tree):
    def __init__(self, tell):
        super().__init__()
        self.tell = tell
        self.now = 0
        self.zxid = 0
        self.backup = vars(Tree())  # the tree of the last backup, of which no rule knows
        self.restored_over = None  # the tree that a backup is about to replace

    def session(self, number):
        if number not in self.sessions:
            self.sessions[number] = Session(number, 0)
        return self.sessions[number]

    def apply(self, at, transaction):
        self.now, self.zxid = at, transaction["zxid"]
        changed, made, session, parts = {}, [], transaction["session"], transaction["parts"]
        if REFUSED in parts:
            return  # the log has a multi also where one of its parts was refused: then nothing was applied
        for part in parts:
            kind = part[0]
            if kind == "create":
                if part[2]:
                    self.create(part, session, changed, made)
            elif kind == "risen":
                self.rise(part, session, changed)
            elif kind == "delete":
                self.delete(part[1], session, changed)
            elif kind == "open":
                self.sessions[session] = Session(session, part[1] * 1000000)
            elif kind == "close":
                self.close(session, part[1], changed)
        if len(parts) > 1:
            self.note_guarded(session, parts)
            for node in made if len(made) > 1 else ():
                node.made_with = made
        self.settle(changed)

    def create(self, part, session, changed, made):
        node = self.add(part[1], session, names.owner_of(part[3]), self.zxid, changed)
        if node is not None:
            made.append(node)
            self.tell("born", node)

    def rise(self, part, session, changed):
        """A node comes back that was not committed. It is in the way of others, and nobody is told of it."""
        replaced = self.nodes.get(part[1])
        if replaced is not None and replaced.died is None:
            self.bury(replaced, BY_RISEN, changed)
        self.add(part[1], session, "", part[2], changed, is_risen=True)

    def add(self, path, session, who, zxid, changed, is_risen=False):
        """Returns the node; None: nobody waits for that one."""
        resource, last = names.split(path)
        name = names.parse(last)
        if name is None:
            return None
        node = Node(path, name, session, who, zxid, self.now, is_risen)
        self.nodes[path] = node
        self.births.setdefault(zxid, []).append(node)
        queue = self.queues.get(resource)
        if queue is None:
            queue = self.queues[resource] = Queue()
        queue.add(node)
        self.session(session).nodes[path] = node
        changed[resource] = True
        return node

    def delete(self, path, session, changed):
        node = self.nodes.get(path)
        if node is None or node.died is not None:
            return
        node.deleter = session
        reader = self.reader_in_place_of(node)
        if reader is not None:
            node.became = reader
            reader.token, reader.hold = node.token, node.hold
            reader.local_number = node.local_number
        self.bury(node, BY_DOWNGRADE if reader else BY_ITSELF if session == node.session else BY_HAND, changed)

    def reader_in_place_of(self, writer):
        """The reader's node that this very transaction has made in the writer's place of the queue."""
        if writer.mode != WRITE or not writer.uuid:
            return None
        place = writer.path.replace("-__WRIT__", "-__READ__")
        reader = self.nodes.get(place)
        return reader if reader is not None and reader.zxid == self.zxid and reader.session == writer.session else None

    def bury(self, node, cause, changed):
        node.death, node.died, node.cause = self.zxid, self.now, cause
        self.queues[node.resource].remove(node)
        self.sessions[node.session].nodes.pop(node.path, None)
        self.dead.append(node)
        changed[node.resource] = True
        self.tell("died", node)

    def close(self, number, paths, changed):
        session = self.session(number)
        session.closed = self.now
        # Those that the servers do not name had gone before, by a deletion that was left out.
        for path in {**session.nodes, **dict.fromkeys(paths or ())}:
            node = self.nodes.get(path)
            if node is not None and node.died is None:
                self.bury(node, BY_SESSION, changed)
        self.closed.append(session)
        self.tell("closed", session)

    def note_guarded(self, session, parts):
        checked = [part[1] for part in parts if part[0] == "check"]
        written = [part[1:] for part in parts if part[0] in ("create", "set", "delete")]
        if checked and written:
            self.tell("guarded", Guarded(self.zxid, self.now, session, checked, written))

    def settle(self, changed):
        for resource in changed:
            queue = self.queues[resource]
            if not queue.nodes:
                del self.queues[resource]
                continue
            for node in list(queue.newly_entitled()):
                node.entitled, node.entitled_at = self.zxid, self.now
                if not node.is_risen:
                    self.tell("entitled", node)

    # ---- Backups ------------------------------------------------------------------------------

    def begin_restore(self, goes_on, transactions):
        """What the backup has was before, and makes another tree. goes_on: it begins with that of the last backup. Holds
        and calls name the nodes that are in both."""
        self.restored_over = self.nodes, self.sessions
        vars(self).update(self.backup if goes_on else vars(Tree()))
        self.tell, self.told = lambda event, what: None, self.tell
        for at, transaction in transactions:
            self.apply(at, transaction)
            if len(self.dead) > FORGOTTEN_AT_ONCE:
                self.forget(at)
        self.backup = {name: vars(self)[name] for name in self.backup}
        vars(self).update(copy.deepcopy(self.backup, self.kept()))

    def kept(self):
        """The nodes of the tree before that live in the backup's, under the same session, by the identity of those there."""
        both = [(node, self.nodes.get(path)) for path, node in self.restored_over[0].items() if node.died is None]
        return {id(restored): node for node, restored in both
                if restored is not None and restored.died is None and restored.session == node.session}

    def end_restore(self, at):
        """Those nodes that the backup does not have are gone. Nothing is promised of sessions any more."""
        nodes, sessions = self.restored_over
        self.tell, self.restored_over, self.now = self.told, None, at
        for session in self.sessions.values():
            session.is_hurt = True
            session.process = sessions[session.number].process if session.number in sessions else None
        for path, node in nodes.items():
            if node.died is None and self.nodes.get(path) is not node:
                node.death, node.died, node.cause = self.zxid, at, BY_RESTORE
                self.tell("died", node)

    def forget(self, before):
        """Forgets what was dead before that."""
        while self.dead and self.dead[0].died < before:
            node = self.dead.popleft()
            self.births.pop(node.zxid, None)
            node.let_go()
            if self.nodes.get(node.path) is node:
                del self.nodes[node.path]
        while self.closed and self.closed[0].closed < before:
            session = self.closed.popleft()
            if self.sessions.get(session.number) is session:
                del self.sessions[session.number]
