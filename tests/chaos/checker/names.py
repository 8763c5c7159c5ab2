"""What a node of a queue is, by its name and its data: docs/internals/protocol.md, "Nodes" and "Who sees whom"."""
import re

EXCLUSIVE, READ, WRITE, PERMIT = "exclusive", "read", "write", "permit"
# From here on a number may be given twice: nobody is granted by it (protocol.md, "Sequence numbers end").
EXHAUSTED_FROM = 2**31 - 2**20

KINDS = {"-lock-": EXCLUSIVE, "-latch-": EXCLUSIVE, "-__READ__": READ, "-__WRIT__": WRITE, "__lock__": EXCLUSIVE,
         "__rlock__": READ}
NAME = re.compile(r"(?:_c_(?P<uuid>[0-9a-f-]{36})|[0-9a-f]{32})?"
                  r"(?P<kind>-lock-|-latch-|-__READ__|-__WRIT__|__lock__|__rlock__|-permit-(?P<permits>\d+)-)"
                  r"(?P<sequence>\d{10}|-\d{9,10})$")  # of "%010d"
LAST_DIGITS = re.compile(r"\d{10}$")  # of an unknown kind, where a dash cannot be told from a minus
BARE_UUID = re.compile(r"[0-9a-f]{32}")
LENT_VARIANT = 19  # of the uuid: the place of its variant, "c" where the node is lent (lending.md)


class Name:
    __slots__ = ("mode", "permits", "sequence", "uuid")

    def __init__(self, mode, permits, sequence, uuid):
        self.mode = mode
        self.permits = permits
        self.sequence = sequence
        self.uuid = uuid

    @property
    def is_lent(self):
        return self.uuid[LENT_VARIANT:LENT_VARIANT + 1] == "c"


def parse(name):
    """None: a node without a sequence, which nobody waits for."""
    match = NAME.search(name)
    if match is None:
        digits = None if BARE_UUID.fullmatch(name) else LAST_DIGITS.search(name)
        return digits and Name(EXCLUSIVE, 1, int(digits.group()), "")
    permits = match.group("permits")
    mode = PERMIT if permits else KINDS[match.group("kind")]
    return Name(mode, int(permits or 1), int(match.group("sequence")), match.group("uuid") or "")


def conflict(one, other):
    """Whether two modes exclude each other; permits are counted, not compared."""
    return not (one == READ and other == READ) and not (one == PERMIT and other == PERMIT)


def split(path):
    resource, _, name = path.rpartition("/")
    return resource, name


def owner_of(data):
    """Who asked, by a line of the node's data: note= of a candidate, owner= of all others; "": it does not say."""
    return line_of(data, "note=") or line_of(data, "owner=")


def line_of(data, begins):
    begin = data.find(begins)
    if begin < 0 or (begin > 0 and data[begin - 1] != "\n"):
        return ""
    end = data.find("\n", begin)
    return data[begin + len(begins):end if end >= 0 else len(data)]
