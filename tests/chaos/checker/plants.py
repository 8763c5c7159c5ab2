"""Violations that are planted in a correct run: each says which rule must find it."""
from .bounds import MS, S
from .made_servers import REAL_AHEAD

PLANTS = []
NOBODYS = "/locks/nobodys/_c_00000000-0000-4000-8000-000000000000-lock-0000000000"


class Plant:
    def __init__(self, rule, kind, run, put):
        self.rule, self.kind, self.run, self.put = rule, kind, run, put
        self.name = put.__name__


def plant(rule, run="calm"):
    """Makes a function a plant: it changes a Copy of a run of that kind, and returns nothing, or raises NoPlace."""

    def register(function):
        PLANTS.append(Plant(rule, function.__doc__, run, function))
        return function

    return register


class NoPlace(Exception):
    """This run has no place for it."""


class Turn:
    """What a handle did with one grant: the indices of nothing, but the lines themselves."""

    def __init__(self, call, grant):
        self.call, self.grant = call, grant
        self.between = []  # lines until the release
        self.release = self.released = None

    @property
    def path(self):
        return self.grant.get("node")

    @property
    def is_plain(self):
        is_one = self.path is not None and self.call.get("stripe") != "all"
        return is_one and self.grant["token"][1] == 0 and self.released is not None


class Copy:
    """The lines and transactions of a run, to be changed."""

    def __init__(self, made):
        self.lines = [dict(line) for line in made.lines]
        self.transactions = [dict(transaction) for transaction in made.transactions]

    # ---- Looking ----------------------------------------------------------------------------

    def find(self, condition):
        for line in self.lines:
            if condition(line):
                return line
        raise NoPlace

    def end_of(self, call):
        return self.find(lambda line: line["who"] == call["who"] and line.get("call") == call["call"] and
                         line["at"] > call["at"] and line["event"] in ("return", "callback") and "status" in line and
                         not (call.get("async") and line["event"] == "return"))

    def call_of(self, end):
        return self.find(lambda line: line["event"] == "call" and line["who"] == end["who"] and
                         line["call"] == end["call"])

    def turns(self):
        """Every grant that was released, or not."""
        open_turns, calls, found = {}, {}, []
        for line in self.lines:
            who = line["who"]
            if line["event"] == "call":
                calls[who, line["call"]] = line
                if line["what"] == "release" and who in open_turns and line["deadline_ms"]:
                    open_turns[who].release = line
            elif line.get("token") and line.get("what") in ("acquire", "upgrade") and line["event"] != "call":
                if who in open_turns and open_turns[who].grant["token"] == line["token"]:
                    continue
                open_turns[who] = Turn(calls[who, line["call"]], line)
                found.append(open_turns[who])
            elif line["event"] == "return" and line["what"] == "release" and who in open_turns:
                if open_turns[who].release is not None and open_turns[who].release["call"] == line["call"]:
                    open_turns.pop(who).released = line
            if who in open_turns:
                open_turns[who].between.append(line)
        return found

    def turn(self, condition=lambda turn: True):
        for turn in self.turns():
            if turn.released is not None and condition(turn):
                return turn
        raise NoPlace

    def plain_turn(self, condition=lambda turn: True, after=0):
        return self.turn(lambda turn: turn.is_plain and turn.call["what"] == "acquire" and turn.grant["at"] > after and
                         not any(line.get("what") in ("downgrade", "upgrade") for line in turn.between) and
                         condition(turn))

    def options(self, who):
        return next((line["options"] for line in self.lines if line["who"] == who and "options" in line), {})

    def start(self):
        return self.lines[0]["at"]

    def transaction(self, condition):
        for transaction in self.transactions:
            if condition(transaction):
                return transaction
        raise NoPlace

    def that(self, kind, path):
        return self.transaction(lambda one: any(part[0] == kind and part[1] == path for part in one["parts"]))

    def boottime(self, transaction):
        return transaction["time_ms"] * MS - REAL_AHEAD

    def handle(self, process):
        return self.find(lambda line: line.get("process") == process and line.get("what") == "open")["who"]

    # ---- Changing ---------------------------------------------------------------------------

    def remove(self, *lines):
        doomed = {id(line) for line in lines}
        self.lines = [line for line in self.lines if id(line) not in doomed]

    def remove_after(self, who, at):
        self.lines = [line for line in self.lines if not (line["who"] == who and line["at"] > at)]

    def settle(self):
        """Nobody changes its servers, which would excuse it for a while."""
        self.lines = [line for line in self.lines if line.get("what") != "set_hosts"]

    def delay(self, who, since, by):
        for line in self.lines:
            if line["who"] == who and line["at"] >= since:
                line["at"] += by

    def add(self, at, like, event, **fields):
        self.lines.append({"at": at, "who": like["who"], "process": like["process"], "event": event, **fields})

    def add_call(self, at, like, what, status, number=900001, asked=None, **answer):
        self.add(at, like, "call", what=what, call=number, **(asked or {}))
        self.add(at + 1000, like, "return", what=what, call=number, status=status, **answer)

    def fault(self, at, what, **fields):
        self.lines.append({"at": at, "who": "nemesis", "event": "fault", "what": what, "fault": 9001, **fields})

    def undo(self, kind, path):
        """Takes a part out of its transaction, and the transaction if nothing is left."""
        one = self.that(kind, path)
        one["parts"] = [part for part in one["parts"] if part[1] != path] or [["other", -1]]

    def end_session(self, number, at):
        self.insert(at, number, [["close", [path for path in self.living(number, at)]]])

    def living(self, number, at):
        paths = {}
        for one in self.transactions:
            if self.boottime(one) <= at and one["session"] == number:
                for part in one["parts"]:
                    if part[0] == "create":
                        paths[part[1]] = True
                    elif part[0] == "delete":
                        paths.pop(part[1], None)
        return list(paths)

    def insert(self, at, session, parts):
        """Puts a transaction where its time says."""
        time_ms = (at + REAL_AHEAD) // MS
        before = max((one["zxid"] for one in self.transactions if one["time_ms"] <= time_ms),
                     default=self.transactions[0]["zxid"] - 5)
        self.transactions.append({"zxid": before + 1, "time_ms": time_ms, "session": session, "parts": parts})

    def rename(self, old, new):
        for line in self.lines:
            if line.get("node") == old:
                line["node"] = new
        for one in self.transactions:
            one["parts"] = [[new if word == old else [new if path == old else path for path in word]
                             if isinstance(word, list) else word for word in part] for part in one["parts"]]

    def finished(self):
        """(lines, transactions), in order again."""
        return sorted(self.lines, key=lambda line: line["at"]), sorted(self.transactions, key=lambda one: one["zxid"])

    def stranger(self):
        return self.transactions[0]["session"]


def other_resource(turn):
    return turn.path.rpartition("/")[0]


def never_released(copy, turn):
    copy.undo("delete", turn.path)
    copy.remove(turn.release, turn.released)


def waited(turn):
    return turn.grant["at"] - turn.call["at"] > 30 * MS


# ---- Exclusion ------------------------------------------------------------------------------


@plant("grant_without_a_node")
def node_that_was_never_made(copy):
    copy.plain_turn().grant["node"] = NOBODYS


@plant("token_is_not_of_the_node")
def token_of_nobody(copy):
    turn = copy.plain_turn()
    turn.grant["token"] = [turn.grant["token"][0] + 1, 0]


@plant("node_of_another_session")
def grant_by_the_node_of_a_stranger(copy):
    copy.plain_turn().grant["session"] = copy.stranger()


@plant("granted_in_another_mode")
def writer_by_a_readers_node(copy):
    turn = copy.plain_turn(lambda turn: turn.grant.get("mode") == "read")
    turn.call["mode"] = turn.grant["mode"] = "write"


@plant("granted_out_of_turn")
def grant_before_the_one_in_front_has_gone(copy):
    turn = copy.plain_turn(waited)
    turn.grant["at"] = copy.boottime(copy.that("create", turn.path)) + 3 * MS


@plant("granted_out_of_turn")
def grant_a_moment_before_its_turn(copy):
    copy.plain_turn(waited).grant["at"] -= 8 * MS


@plant("granted_out_of_turn")
def grant_by_the_order_of_names(copy):
    """The sequence is compared as text with another prefix: somebody with a lower number is passed by."""
    turn = copy.plain_turn(waited)
    resource, _, name = turn.path.rpartition("/")
    copy.insert(turn.call["at"], copy.stranger(), [["create", f"{resource}/_c_{name[3:39]}-lock-0000000000", 1, ""]])


@plant("two_holders")
def holder_that_nobody_waited_for(copy):
    turn = copy.plain_turn(lambda turn: turn.grant["mode"] == "exclusive")
    never_released(copy, turn)
    copy.remove_after(turn.grant["who"], turn.release["at"])


@plant("too_many_permits")
def permit_beyond_their_number(copy):
    turn = copy.plain_turn(lambda turn: turn.grant["mode"] == "permit")
    never_released(copy, turn)
    copy.remove_after(turn.grant["who"], turn.release["at"])


@plant("granted_long_after_its_node")
def grant_on_old_news(copy):
    turn = copy.plain_turn()
    copy.delay(turn.grant["who"], turn.grant["at"], 20 * S)


@plant("exhausted_number_granted")
def number_near_the_end(copy):
    turn = copy.plain_turn()
    copy.rename(turn.path, turn.path[:-10] + "2147483000")


@plant("exhausted_number_granted")
def negative_number(copy):
    turn = copy.plain_turn()
    copy.rename(turn.path, turn.path[:-10] + "-2147483000")


@plant("grant_without_a_node")
def set_that_lacks_a_member(copy):
    call = copy.find(lambda line: line["event"] == "call" and line.get("stripe") == "all" and
                     copy.end_of(line)["status"] == "ZKL_OK")
    one = copy.that("create", copy.end_of(call)["node"])
    one["parts"] = one["parts"][:-1]


@plant("granted_another_resource")
def stripe_of_another_number(copy):
    turn = copy.plain_turn(lambda turn: isinstance(turn.call.get("stripe"), int))
    turn.call["stripe"] = (turn.call["stripe"] + 1) % turn.call["stripes"]


@plant("granted_while_it_held")
def second_grant_of_a_holder(copy):
    turn = copy.plain_turn(lambda turn: turn.release["at"] - turn.grant["at"] > MS)
    other = copy.plain_turn(after=turn.released["at"])
    copy.add_call(turn.release["at"] - 2000, turn.grant, "acquire", "ZKL_OK", token=other.grant["token"],
                  node=other.path)


@plant("upgraded_by_an_old_place")
def upgrade_with_a_lower_token(copy):
    grant = copy.find(lambda line: line["event"] == "return" and line["what"] == "upgrade" and "token" in line)
    grant["token"] = [1, 0]


@plant("lent_to_two", run="lonely")
def lent_again_before_it_was_given_back(copy):
    turn = copy.turn(lambda turn: turn.grant["token"][1] > 0)
    copy.remove(turn.release, turn.released)
    copy.remove_after(turn.grant["who"], turn.release["at"])


@plant("set_not_at_once")
def set_in_two_transactions(copy):
    turn = copy.turn(lambda turn: "nodes" in turn.grant)
    one = copy.that("create", turn.grant["nodes"][0])
    later = dict(one, zxid=one["zxid"] + 1, parts=one["parts"][1:])
    one["parts"] = one["parts"][:1]
    copy.transactions.append(later)


@plant("node_of_another_session")
def grant_by_the_node_of_another_process(copy):
    turn = copy.plain_turn()
    other = copy.find(lambda line: line["event"] == "session" and line["session"] != turn.grant["session"])
    copy.that("create", turn.path)["session"] = other["session"]
    del turn.grant["session"]


@plant("granted_by_anothers_node")
def grant_by_a_sisters_node(copy):
    turn = copy.plain_turn(after=copy.start() + 5 * S)
    who = turn.grant["who"]
    sister = copy.find(lambda line: line.get("process") == turn.grant["process"] and line.get("what") == "open" and
                       line["who"] != who)["who"]
    one = copy.that("create", turn.path)
    one["parts"] = [[*part[:3], part[3].replace(f"owner={who}\n", f"owner={sister}\n")] for part in one["parts"]]


@plant("granted_in_another_mode")
def reader_where_a_writer_asked(copy):
    copy.plain_turn(lambda turn: turn.grant.get("mode") == "read").call["mode"] = "write"


@plant("permits_of_another_number")
def permit_that_was_renamed(copy):
    permits = [turn for turn in copy.turns() if turn.is_plain and turn.grant.get("mode") == "permit"]
    for turn in permits:
        if any(other.grant["at"] < turn.call["at"] and other.release["at"] > turn.grant["at"] for other in permits):
            copy.rename(turn.path, turn.path.replace("-permit-2-", "-permit-3-"))
            return
    raise NoPlace


@plant("permits_of_another_number")
def permit_of_more_than_were_opened(copy):
    turn = copy.plain_turn(lambda turn: turn.grant["mode"] == "permit")
    for line in copy.lines:
        if line["who"] == turn.grant["who"] and "options" in line:
            line["options"] = {**line["options"], "permits": 1}


def delete_at(copy, turn, at):
    copy.undo("delete", turn.path)
    copy.insert(at, turn.grant["session"], [["delete", turn.path]])


@plant("granted_after_its_deletion")
def grant_of_what_was_given_up(copy):
    turn = copy.plain_turn(lambda turn: waited(turn) and "max_hold_ms" not in copy.options(turn.grant["who"]) and
                           not turn.call.get("async"))
    delete_at(copy, turn, turn.grant["at"] - 10 * MS)


@plant("released_what_was_gone")
def node_that_a_sister_has_deleted(copy):
    """For a moment, in which the next one came."""
    turn = copy.plain_turn(lambda turn: turn.release["at"] - turn.grant["at"] > 30 * MS)
    delete_at(copy, turn, turn.grant["at"] + 10 * MS)


# ---- Tokens ---------------------------------------------------------------------------------


@plant("token_did_not_rise")
def token_that_falls(copy):
    first = copy.plain_turn(lambda turn: turn.grant["mode"] == "exclusive")
    later = copy.plain_turn(lambda turn: turn.grant["mode"] == "exclusive" and
                            other_resource(turn) == other_resource(first), after=first.released["at"] + 100 * MS)
    later.grant["token"] = [first.grant["token"][0] - 1, 0]


@plant("local_number_did_not_rise", run="lonely")
def local_number_that_falls(copy):
    grant = copy.turn(lambda turn: turn.grant["token"][1] > 2).grant
    grant["token"] = [grant["token"][0], grant["token"][1] - 2]


@plant("local_number_of_another_kind")
def local_number_of_a_lock_that_is_not_lent(copy):
    grant = copy.plain_turn().grant
    grant["token"] = [grant["token"][0], 5]


@plant("local_number_of_another_kind", run="lonely")
def lent_lock_without_a_local_number(copy):
    grant = copy.turn(lambda turn: turn.grant["token"][1] > 0).grant
    grant["token"] = [grant["token"][0], 0]


@plant("token_given_twice")
def grant_of_an_old_token(copy):
    first = copy.plain_turn(lambda turn: turn.grant["mode"] == "exclusive")
    later = copy.plain_turn(lambda turn: turn.grant["mode"] == "exclusive", after=first.released["at"])
    later.grant.update(token=first.grant["token"], node=first.grant["node"])


# ---- Lease ----------------------------------------------------------------------------------


def leased_check(copy):
    """(its turn, a check that is followed by peace for a while)"""
    for turn in copy.turns():
        if "lease_tick_ms" in copy.options(turn.grant["who"]) and turn.is_plain and "hand_offs" not in copy.options(
                turn.grant["who"]):
            for line in turn.between:
                if line.get("what") == "check" and line["event"] == "return" and line["status"] == "ZKL_OK" and \
                        turn.grant["at"] + 20 * MS < line["at"] < turn.release["at"] - 20 * MS:
                    return turn, line
    raise NoPlace


@plant("lease_outlived_the_session")
def lease_longer_than_the_session(copy):
    turn, check = leased_check(copy)
    check["lease_left_ms"] = 60000
    copy.end_session(turn.grant["session"], check["at"] + 8 * MS)


@plant("lease_of_a_session_that_is_over")
def lease_told_after_the_session(copy):
    turn, check = leased_check(copy)
    copy.end_session(turn.grant["session"], check["at"] - 8 * MS)


def forgotten_lease(copy):
    for turn in copy.turns():
        if turn.is_plain and copy.options(turn.grant["who"]).get("lease_tick_ms") and "retain_ms" not in copy.options(
                turn.grant["who"]) and turn.grant["mode"] != "read":
            resource = other_resource(turn)
            later = [other for other in copy.turns() if other.path and other_resource(other) == resource and
                     other.grant["who"] != turn.grant["who"] and other.grant["at"] > turn.released["at"]]
            if later and later[0].grant["at"] < turn.released["at"] + 20 * S:
                copy.remove_after(turn.grant["who"], turn.release["at"] - 1)
                return turn, later[0]
    raise NoPlace


@plant("lease_beyond_the_successor")
def lease_longer_than_the_lock(copy):
    turn, _ = forgotten_lease(copy)
    copy.add_call(turn.release["at"], turn.grant, "check", "ZKL_OK", lease_left_ms=60000)


@plant("lease_after_the_successor")
def lease_told_after_the_successor_came(copy):
    turn, successor = forgotten_lease(copy)
    copy.add_call(successor.grant["at"] + MS, turn.grant, "check", "ZKL_OK", lease_left_ms=1000)


@plant("lease_after_the_successor")
def lease_of_nothing_after_the_successor_came(copy):
    turn, successor = forgotten_lease(copy)
    copy.add_call(successor.grant["at"] + MS, turn.grant, "check", "ZKL_OK", lease_left_ms=0)


@plant("end_of_a_lease_not_told")
def holder_that_says_nothing_of_its_end(copy):
    forgotten_lease(copy)


@plant("lease_longer_than_the_session")
def lease_that_cannot_be(copy):
    leased_check(copy)[1]["lease_left_ms"] = 5000


@plant("lease_that_is_not_told")
def lease_that_is_forgotten(copy):
    leased_check(copy)[1]["lease_left_ms"] = -1


@plant("granted_after_its_session")
def grant_without_a_lease(copy):
    turn = copy.plain_turn(lambda turn: waited(turn) and "lease_tick_ms" in copy.options(turn.grant["who"]))
    copy.end_session(turn.grant["session"], turn.grant["at"] - 10 * MS)
    copy.delay(turn.grant["who"], turn.grant["at"], 3 * S)


# ---- Calls ----------------------------------------------------------------------------------


@plant("call_begun_twice")
def number_used_twice(copy):
    turn = copy.plain_turn()
    copy.lines.append(dict(turn.call, at=turn.call["at"] + 10))


@plant("call_ended_twice")
def release_that_returns_twice(copy):
    turn = copy.plain_turn()
    copy.lines.append(dict(turn.released, at=turn.released["at"] + 10))


@plant("call_ended_twice")
def return_of_nothing(copy):
    call = copy.plain_turn().call
    copy.add(call["at"], call, "return", what="verify", call=900009, status="ZKL_OK")


@plant("callback_not_owed")
def callback_that_comes_twice(copy):
    callback = copy.find(lambda line: line["event"] == "callback" and line["what"] == "acquire")
    copy.lines.append(dict(callback, at=callback["at"] + 10))


@plant("callback_not_owed")
def callback_after_a_refusal(copy):
    callback = copy.find(lambda line: line["event"] == "callback" and line["what"] == "acquire")
    copy.find(lambda line: line["event"] == "return" and line["who"] == callback["who"] and
              line["call"] == callback["call"])["status"] = "ZKL_CLOSED"


@plant("call_never_ended")
def callback_that_never_comes(copy):
    callback = copy.find(lambda line: line["event"] == "callback" and line["what"] == "acquire" and
                         line["status"] != "ZKL_OK")
    copy.remove(callback)


@plant("call_never_ended")
def verify_that_never_returns(copy):
    copy.remove(copy.find(lambda line: line["event"] == "return" and line["what"] == "verify"))


@plant("call_left_open")
def process_that_hangs(copy):
    end = copy.find(lambda line: line["event"] == "end")
    last = [line for line in copy.lines if line.get("process") == end["process"] and line["event"] == "return"][-1]
    copy.remove(end, last)


@plant("call_too_late")
def deadline_that_is_missed(copy):
    refused = copy.find(lambda line: line.get("status") == "ZKL_TIMEOUT" and line["what"] == "acquire")
    copy.delay(refused["who"], refused["at"], 3 * S)


@plant("call_ends_too_late")
def release_that_never_ends(copy):
    turn = copy.plain_turn(lambda turn: turn.released["status"] == "ZKL_OK")
    copy.remove_after(turn.release["who"], turn.release["at"])


@plant("call_too_late")
def try_that_waits(copy):
    refused = copy.find(lambda line: line.get("status") == "ZKL_BUSY" and line["what"] == "acquire")
    copy.delay(refused["who"], refused["at"], 12 * S)


@plant("timed_out_too_early")
def deadline_cut_short(copy):
    refused = copy.find(lambda line: line.get("status") == "ZKL_TIMEOUT" and line["what"] == "acquire")
    copy.call_of(refused)["deadline_ms"] *= 3


@plant("timed_out_too_early")
def disconnection_before_the_deadline(copy):
    deadline_cut_short(copy)
    refused = copy.find(lambda line: line.get("status") == "ZKL_TIMEOUT" and line["what"] == "acquire")
    refused["status"] = "ZKL_DISCONNECTED"


def timed_out(copy):
    return copy.find(lambda line: line.get("status") == "ZKL_TIMEOUT" and line["what"] == "acquire" and
                     line["at"] > copy.start() + 13 * S)


@plant("busy_though_it_may_wait")
def wait_that_is_not_begun(copy):
    timed_out(copy)["status"] = "ZKL_BUSY"


@plant("disconnected_in_peace")
def disconnection_in_peace(copy):
    timed_out(copy)["status"] = "ZKL_DISCONNECTED"


@plant("cancelled_by_nobody")
def cancel_that_nobody_asked_for(copy):
    timed_out(copy)["status"] = "ZKL_CANCELLED"


def cancelled(copy):
    return copy.find(lambda line: line.get("status") == "ZKL_CANCELLED" and line["what"] == "acquire")


@plant("cancelled_and_told_otherwise")
def cancel_that_is_told_as_another_end(copy):
    cancelled(copy)["status"] = "ZKL_TIMEOUT"


@plant("call_too_late")
def cancel_that_ends_nothing(copy):
    line = cancelled(copy)
    copy.call_of(line)["deadline_ms"] = -1
    copy.delay(line["who"], line["at"], 3 * S)


@plant("call_too_late")
def check_that_blocks(copy):
    line = copy.find(lambda line: line["event"] == "return" and line["what"] == "check")
    copy.delay(line["who"], line["at"], 3 * S)


@plant("call_too_late")
def upgrade_that_waits(copy):
    line = copy.find(lambda line: line["event"] == "return" and line["what"] == "upgrade")
    copy.delay(line["who"], line["at"], 12 * S)


@plant("cancel_that_finds_nothing")
def cancel_of_a_wait_that_it_does_not_see(copy):
    opened = copy.find(lambda line: line["event"] == "return" and line["what"] == "open")
    late = dict(opened, who="late")
    copy.add(opened["at"] + MS, late, "call", what="acquire", call=1, deadline_ms=8000)
    copy.add_call(opened["at"] + 3 * S, late, "cancel", "ZKL_NOT_WAITING")
    copy.add(opened["at"] + 8 * S, late, "return", what="acquire", call=1, status="ZKL_TIMEOUT")


@plant("held_by_nobody")
def check_that_goes_on_after_the_release(copy):
    turn = copy.plain_turn(lambda turn: turn.released["status"] == "ZKL_OK")
    copy.add_call(turn.released["at"] + 10, turn.grant, "check", "ZKL_OK", lease_left_ms=-1)


@plant("held_by_nobody")
def verify_of_nothing(copy):
    turn = copy.plain_turn(lambda turn: turn.released["status"] == "ZKL_OK")
    copy.add_call(turn.released["at"] + 10, turn.grant, "verify", "ZKL_OK")


@plant("record_refused_without_a_reason")
def record_that_is_refused_and_nothing_said(copy):
    turn = copy.plain_turn()
    copy.add_call(turn.release["at"] - 2000, turn.grant, "write_record", "ZKL_SYSTEM")


@plant("granted_though_cancelled")
def cancel_that_does_nothing(copy):
    turn = copy.plain_turn(waited)
    copy.add_call(turn.call["at"] + MS, turn.call, "cancel", "ZKL_OK")


@plant("callback_after_close")
def callback_of_a_closed_handle(copy):
    closed = copy.find(lambda line: line["event"] == "return" and line["what"] == "close")
    copy.add(closed["at"] + MS, closed, "callback", what="state", state="SUSPECT", token=[1, 0])


# ---- Losses ---------------------------------------------------------------------------------


def lose(copy, reason, condition=lambda turn: True):
    turn = copy.plain_turn(condition, after=copy.start() + 13 * S)
    copy.add(turn.release["at"] - 1, turn.grant, "callback", what="state", state="LOST", reason=reason,
             token=turn.grant["token"])


@plant("lost_without_cause")
def expiry_of_a_session_that_lives(copy):
    lose(copy, "ZKL_SESSION_EXPIRED")


@plant("lost_without_cause")
def deletion_of_a_node_that_lives(copy):
    lose(copy, "ZKL_NODE_DELETED")


@plant("lost_without_cause")
def limit_of_a_hold_that_has_none(copy):
    lose(copy, "ZKL_HOLD_LIMIT", lambda turn: "max_hold_ms" not in copy.options(turn.grant["who"]))


@plant("lost_without_cause")
def limit_that_comes_early(copy):
    lose(copy, "ZKL_HOLD_LIMIT", lambda turn: "max_hold_ms" in copy.options(turn.grant["who"]) and
         turn.release["at"] - turn.call["at"] < 250 * MS)


@plant("lost_without_cause")
def lease_that_ends_in_peace(copy):
    lose(copy, "ZKL_LEASE_ENDED", lambda turn: "lease_tick_ms" in copy.options(turn.grant["who"]))


@plant("lost_without_cause")
def release_that_tells_of_a_loss(copy):
    turn = copy.plain_turn(lambda turn: "max_hold_ms" not in copy.options(turn.grant["who"]),
                           after=copy.start() + 13 * S)
    turn.released["status"] = "ZKL_LOST"
    copy.that("delete", turn.path)["time_ms"] += 1000


@plant("suspect_without_cause")
def doubt_in_peace(copy):
    turn = copy.plain_turn(after=copy.start() + 13 * S)
    copy.add(turn.release["at"] - 1, turn.grant, "callback", what="state", state="SUSPECT", token=turn.grant["token"])


@plant("check_suspects_without_cause")
def check_that_doubts_in_peace(copy):
    copy.find(lambda line: line["at"] > copy.start() + 13 * S and line["event"] == "return" and
              line["what"] == "check" and line["status"] == "ZKL_OK")["status"] = "ZKL_SUSPECT"


def lost_turn(copy):
    """(its turn, the line that told of the loss)"""
    for turn in copy.turns():
        for line in turn.between:
            if line.get("state") == "LOST" and turn.release is not None:
                return turn, line
    raise NoPlace


@plant("held_after_the_loss")
def check_that_forgets_the_loss(copy):
    turn, lost = lost_turn(copy)
    copy.add_call(lost["at"] + 1000, turn.grant, "check", "ZKL_OK", lease_left_ms=-1)


@plant("told_held_after_the_loss")
def holder_again_after_the_loss(copy):
    turn, lost = lost_turn(copy)
    copy.add(lost["at"] + 1000, turn.grant, "callback", what="state", state="HELD", token=turn.grant["token"])


@plant("told_of_the_loss_twice")
def loss_that_is_told_twice(copy):
    _, lost = lost_turn(copy)
    copy.lines.append(dict(lost, at=lost["at"] + 10))


@plant("told_of_what_it_never_held")
def loss_of_what_was_never_granted(copy):
    turn = copy.plain_turn()
    copy.add(turn.release["at"] - 10, turn.grant, "callback", what="state", state="LOST", reason="ZKL_NODE_DELETED",
             token=[1, 0])


@plant("end_of_a_doubt_not_told")
def doubt_without_an_end(copy):
    turn = copy.plain_turn()
    copy.remove_after(turn.grant["who"], turn.grant["at"])
    copy.add(turn.grant["at"] + 1, turn.grant, "callback", what="state", state="SUSPECT", token=turn.grant["token"])


@plant("loss_not_called_back")
def loss_that_only_who_asks_is_told(copy):
    found = copy.find(lambda line: line.get("what") == "check" and line.get("status") == "ZKL_LOST")
    copy.lines = [line for line in copy.lines if not (line["who"] == found["who"] and line.get("state") == "LOST")]


@plant("proven_after_the_loss")
def verify_that_forgets_the_loss(copy):
    turn, lost = lost_turn(copy)
    copy.add_call(lost["at"] + 1000, turn.grant, "verify", "ZKL_OK")


@plant("proven_after_the_loss")
def commit_that_forgets_the_loss(copy):
    turn, lost = lost_turn(copy)
    copy.add_call(lost["at"] + 1000, turn.grant, "commit", "ZKL_OK", asked={"mark": "mark=late"})


@plant("release_that_forgets_the_loss")
def release_as_if_it_were_held(copy):
    turn = copy.turn(lambda turn: any(line.get("state") == "LOST" for line in turn.between) and
                     turn.released["status"] == "ZKL_LOST")
    turn.released["status"] = "ZKL_OK"


@plant("lost_without_cause")
def downgrade_that_tells_of_a_loss(copy):
    copy.settle()
    for turn in copy.turns():
        for line in turn.between if turn.grant["at"] > copy.start() + 13 * S else ():
            if line["event"] == "return" and line["what"] == "downgrade" and line["at"] + 10 * MS < turn.release["at"]:
                line["status"] = "ZKL_LOST"
                return
    raise NoPlace


@plant("expiry_not_told")
def end_that_is_not_heard_of_after_a_long_fault(copy):
    """When the servers' node is forgotten."""
    turn = copy.plain_turn()
    process, at = turn.grant["process"], turn.grant["at"]
    host = copy.find(lambda line: line["event"] == "start" and line["process"] == process)["host"]
    copy.end_session(turn.grant["session"], at + MS)
    copy.lines = [line for line in copy.lines if line.get("process") != process or line["at"] <= at]
    copy.fault(at + 2 * MS, "begin", kind="cut", touches=[host])
    copy.fault(at + 70 * S, "healed")
    for seconds in range(60, 100, 10):
        later = at + seconds * S
        copy.lines.append({"at": later, "who": "nemesis", "event": "clock", "real_ns": later + REAL_AHEAD})


@plant("deletion_not_told")
def holder_that_does_not_look(copy):
    turn = copy.plain_turn()
    copy.insert(turn.grant["at"] + MS, copy.stranger(), [["delete", turn.path]])
    copy.remove_after(turn.grant["who"], turn.grant["at"])


@plant("expiry_not_told")
def holder_that_does_not_hear_of_its_end(copy):
    turn = copy.plain_turn()
    copy.end_session(turn.grant["session"], turn.grant["at"] + MS)
    copy.remove_after(turn.grant["who"], turn.grant["at"])


@plant("expiry_not_told_by_a_new_session")
def holder_whose_client_has_a_new_session(copy):
    turn = copy.plain_turn(lambda turn: "lease_tick_ms" not in copy.options(turn.grant["who"]))
    started = copy.find(lambda line: line["event"] == "start" and line["process"] == turn.grant["process"])
    copy.add(turn.grant["at"] + MS, started, "session", session="0x7777")
    copy.delay(turn.grant["who"], turn.release["at"], 6 * S)


@plant("held_beyond_the_limit")
def hold_without_an_end(copy):
    turn = copy.plain_turn(lambda turn: "max_hold_ms" in copy.options(turn.grant["who"]))
    copy.remove_after(turn.grant["who"], turn.grant["at"])


@plant("certain_while_cut_off")
def check_that_trusts_the_silence(copy):
    host = copy.find(lambda line: line["event"] == "start")
    copy.fault(copy.start() + S, "begin", kind="cut", touches=[host["host"]], silences=[host["host"]])
    copy.fault(copy.start() + S + 1, "proven")


@plant("verified_a_dead_node")
def verify_that_asks_nobody(copy):
    turn = copy.plain_turn(lambda turn: turn.release["at"] - turn.grant["at"] > 30 * MS)
    copy.insert(turn.grant["at"] + 5 * MS, copy.stranger(), [["delete", turn.path]])
    copy.add_call(turn.grant["at"] + 15 * MS, turn.grant, "verify", "ZKL_OK")


@plant("release_finds_nothing")
def release_of_a_holder_that_is_none(copy):
    copy.plain_turn().released["status"] = "ZKL_NOT_HELD"


@plant("check_finds_nothing")
def check_of_a_holder_that_is_none(copy):
    turn = copy.plain_turn()
    copy.add_call(turn.release["at"] - 2000, turn.grant, "check", "ZKL_NOT_HELD")


# ---- Ends -----------------------------------------------------------------------------------


@plant("node_outlives_its_acquire")
def deletion_that_is_forgotten(copy):
    """Of a wait that was given up."""
    for refused in [line for line in copy.lines if line.get("status") in ("ZKL_TIMEOUT", "ZKL_CANCELLED")]:
        call = copy.call_of(refused)
        for one in copy.transactions:
            part = one["parts"][0]
            if part[0] == "create" and f"owner={call['who']}\n" in part[3] and \
                    call["at"] < copy.boottime(one) < refused["at"] - 2 * MS:
                copy.undo("delete", part[1])
                return
    raise NoPlace


@plant("node_without_a_request")
def create_that_comes_late(copy):
    turn = copy.plain_turn(lambda turn: turn.release["at"] - turn.grant["at"] > 30 * MS)
    copy.insert(turn.grant["at"] + 15 * MS, turn.grant["session"],
                [["create", NOBODYS, 1, f"owner={turn.grant['who']}\n"]])


@plant("released_and_still_there")
def release_that_deletes_nothing(copy):
    turn = copy.plain_turn(lambda turn: turn.released["status"] == "ZKL_OK")
    copy.undo("delete", turn.path)


@plant("node_outlives_its_release")
def release_that_gives_up(copy):
    turn = copy.plain_turn(lambda turn: turn.released["status"] == "ZKL_OK")
    turn.released["status"] = "ZKL_PENDING"
    copy.undo("delete", turn.path)


@plant("node_outlives_its_handle")
def close_that_deletes_nothing(copy):
    turn = copy.plain_turn()
    never_released(copy, turn)
    copy.remove_after(turn.grant["who"], turn.release["at"])
    copy.add_call(turn.release["at"], turn.grant, "close", "ZKL_OK")


@plant("client_closed_and_nodes_there")
def close_of_a_client_that_confirms_nothing(copy):
    turn = copy.plain_turn()
    copy.undo("delete", turn.path)
    close = copy.transaction(lambda one: one["parts"][0][0] == "close" and one["session"] == turn.grant["session"])
    close["parts"] = [["other", -1]]


@plant("node_outlives_its_limit")
def limit_that_deletes_nothing(copy):
    for turn in copy.turns():
        if turn.is_plain and any(line.get("reason") == "ZKL_HOLD_LIMIT" for line in turn.between):
            copy.undo("delete", turn.path)
            copy.remove_after(turn.grant["who"], turn.release["at"] - 1)
            return
    raise NoPlace


@plant("node_outlives_its_process", run="stormy")
def session_that_outlives_its_process(copy):
    killed = copy.find(lambda line: line["event"] == "process" and line["what"] == "kill")
    session = copy.find(lambda line: line["event"] == "session" and line["process"] == killed["process"])["session"]
    at = killed["at"]
    last = [one for one in copy.transactions if one["session"] == session and one["parts"][0][0] == "close"]
    if not last:
        raise NoPlace
    last[-1]["parts"] = [["other", -1]]
    copy.insert(at + MS, session, [["create", NOBODYS, 1, ""]])


@plant("anothers_node_deleted")
def deletion_of_a_node_of_others(copy):
    turn = copy.plain_turn()
    other = copy.find(lambda line: line["event"] == "session" and line["session"] != turn.grant["session"])
    copy.that("delete", turn.path)["session"] = other["session"]


@plant("kept_for_too_long", run="lonely")
def node_kept_for_nobody(copy):
    borrowers = {one.grant["who"] for one in copy.turns() if one.grant["token"][1] > 0}

    def is_wanted(turn):
        last = {line["who"]: line for line in copy.lines if line["who"] in borrowers and
                line["at"] <= turn.released["at"]}
        return any(line["event"] == "call" for line in last.values())

    turn = copy.turn(lambda turn: turn.grant["token"][1] > 0 and not is_wanted(turn))
    for borrower in borrowers:
        copy.remove_after(borrower, turn.released["at"])
    copy.undo("delete", turn.path)


@plant("deleted_while_it_is_held")
def release_that_forgets_how_often_it_was_acquired(copy):
    turn = copy.turn(lambda turn: turn.is_plain and any(
        line["event"] == "call" and line["what"] == "acquire" and line is not turn.call for line in turn.between))
    copy.remove_after(turn.grant["who"], turn.release["at"] - 1)


@plant("session_ended_without_cause")
def session_that_ends_in_peace(copy):
    session = copy.find(lambda line: line["event"] == "session")
    copy.end_session(session["session"], session["at"] + 20 * S)


# ---- Order ----------------------------------------------------------------------------------


@plant("turn_not_told")
def wake_up_that_is_lost(copy):
    turn = copy.plain_turn(lambda turn: turn.call["deadline_ms"] == -1)
    copy.undo("delete", turn.path)
    copy.remove_after(turn.grant["who"], turn.grant["at"] - 1)


@plant("waits_without_a_place")
def waiter_that_does_not_join(copy):
    turn = copy.plain_turn(lambda turn: turn.call["deadline_ms"] == -1)
    copy.undo("create", turn.path)
    copy.undo("delete", turn.path)
    copy.remove_after(turn.grant["who"], turn.grant["at"] - 1)


@plant("place_lost_without_cause")
def place_given_up(copy):
    turn = copy.plain_turn(lambda turn: waited(turn) and
                           copy.boottime(copy.that("create", turn.path)) > turn.call["at"])
    create = copy.that("create", turn.path)
    made = ["create", NOBODYS, 1, f"owner={turn.grant['who']}\n"]
    copy.transactions += [dict(create, zxid=create["zxid"] - 2, parts=[made]),
                          dict(create, zxid=create["zxid"] - 1, parts=[["delete", NOBODYS]])]


@plant("busy_without_a_reason")
def busy_with_nobody(copy):
    turn = copy.plain_turn()
    copy.add_call(turn.call["at"] - 2000, turn.call, "acquire", "ZKL_BUSY",
                  asked={"deadline_ms": 0, "resource": "/locks/nobodys", "mode": "exclusive"})


@plant("handed_on_too_often", run="lonely")
def waiter_that_is_passed_by(copy):
    turn = copy.turn(lambda turn: turn.grant["token"][1] == 1)
    copy.insert(turn.grant["at"] + MS, copy.stranger(), [["create", turn.path[:-10] + "0000099999", 1, ""]])


@plant("handed_on_too_late", run="lonely")
def hand_off_after_its_time(copy):
    waiter_that_is_passed_by(copy)
    for line in copy.lines:
        if "hand_offs" in line.get("options", {}):
            line["options"] = {**line["options"], "hand_off_ms": 1}


def tell_the_first(copy, turn):
    """Of a waiter, who was lent the same node before the others."""
    first = copy.turn(lambda one: one.grant["token"] == [turn.grant["token"][0], 1])
    copy.add(first.grant["at"] + 10, first.grant, "callback", what="state", state="CONTENDED",
             token=first.grant["token"], resource=other_resource(first))
    return first


@plant("handed_on_too_often", run="lonely")
def waiter_that_was_heard_of_and_is_passed_by(copy):
    tell_the_first(copy, copy.turn(lambda turn: turn.grant["token"][1] == 4))


@plant("handed_on_too_late", run="lonely")
def hand_off_long_after_the_news(copy):
    for turn in copy.turns():
        if turn.grant["token"][1] == 2:
            first = tell_the_first(copy, turn)
            change_options(copy, turn.grant["who"], hand_off_ms=1)
            copy.delay(turn.grant["who"], turn.grant["at"], max(0, first.grant["at"] + 3 * S - turn.grant["at"]))
            return
    raise NoPlace


@plant("joined_in_front")
def number_that_was_made_up(copy):
    turn = copy.plain_turn(waited)
    resource, _, name = turn.path.rpartition("/")
    copy.insert(turn.grant["at"], copy.stranger(), [["create", f"{resource}/_c_{name[3:39]}-lock-0000000000", 1, ""]])


def silence(copy, who, since):
    """None of them does anything any more."""
    for one in who:
        copy.remove_after(one, since)


def borrowers(copy):
    return {one.grant["who"] for one in copy.turns() if one.grant["token"][1] > 0}


@plant("turn_not_lent", run="lonely")
def lent_node_that_is_forgotten(copy):
    copy.settle()
    turn = copy.turn(lambda turn: turn.grant["token"][1] == 1)
    silence(copy, borrowers(copy), turn.grant["at"] - 1)
    copy.undo("delete", turn.path)


@plant("not_lent_to_the_next", run="lonely")
def hand_off_that_is_forgotten(copy):
    copy.settle()
    everybody = borrowers(copy)
    for turn in copy.turns():
        if turn.grant["token"][1] > 0 and turn.released is not None:
            last = {line["who"]: line for line in copy.lines if line["who"] in everybody and
                    line["at"] < turn.release["at"]}
            if any(line["event"] == "call" and line["what"] == "acquire" for line in last.values()):
                silence(copy, everybody, turn.released["at"])
                copy.undo("delete", turn.path)
                return
    raise NoPlace


@plant("kept_from_others", run="lonely")
def node_kept_while_others_wait(copy):
    copy.settle()
    turn = copy.turn(lambda turn: turn.grant["token"][1] > 0)
    silence(copy, borrowers(copy), turn.released["at"])
    copy.undo("delete", turn.path)
    copy.insert(turn.released["at"] + MS, copy.stranger(), [["create", turn.path[:-10] + "0000099999", 1, ""]])


@plant("busy_without_a_reason")
def reader_that_is_busy_among_readers(copy):
    turn = copy.plain_turn()
    reader = NOBODYS.replace("-lock-", "-__READ__")
    copy.insert(turn.call["at"] - 50 * MS, copy.stranger(), [["create", reader, 1, ""]])
    copy.add_call(turn.call["at"] - 2000, turn.call, "acquire", "ZKL_BUSY",
                  asked={"deadline_ms": 0, "resource": "/locks/nobodys", "mode": "read"})


@plant("upgrade_refused_without_a_reason", run="lonely")
def upgrade_of_the_only_reader(copy):
    turn = copy.turn(lambda turn: turn.is_plain and turn.grant.get("mode") == "read" and
                     turn.grant["at"] > copy.start() + 10 * S and
                     not any(line.get("what") == "upgrade" for line in turn.between))
    copy.add_call(turn.grant["at"] + 10, turn.grant, "upgrade", "ZKL_BUSY")


# ---- Who waits behind a holder --------------------------------------------------------------


def told_of_a_waiter(copy):
    """(its turn, the line that told of it)"""
    for turn in copy.turns():
        for line in turn.between:
            if line.get("state") == "CONTENDED" and turn.is_plain:
                return turn, line
    raise NoPlace


def change_options(copy, who, **options):
    """None takes one away."""
    for line in copy.lines:
        if line["who"] == who and "options" in line:
            changed = {**line["options"], **options}
            line["options"] = {name: value for name, value in changed.items() if value is not None}


@plant("told_of_a_waiter_unasked")
def waiter_of_whom_nobody_asked_to_be_told(copy):
    change_options(copy, told_of_a_waiter(copy)[1]["who"], tell_contended=None)


@plant("told_of_a_waiter_twice")
def waiter_that_is_told_twice(copy):
    told = told_of_a_waiter(copy)[1]
    copy.lines.append(dict(told, at=told["at"] + 10))


def tell_of_a_waiter(copy, turn):
    change_options(copy, turn.grant["who"], tell_contended=1)
    copy.add(turn.grant["at"] + 10, turn.grant, "callback", what="state", state="CONTENDED",
             token=turn.grant["token"], resource=other_resource(turn))


@plant("told_of_a_waiter_that_was_not", run="lonely")
def waiter_that_was_never_there(copy):
    tell_of_a_waiter(copy, copy.plain_turn())


@plant("told_of_a_waiter_that_was_not", run="lonely")
def waiter_that_has_left_before(copy):
    turn = copy.plain_turn(after=copy.start() + 5 * S)
    path = turn.path[:-10] + "0000099999"
    copy.insert(turn.call["at"] - 2 * S, copy.stranger(), [["create", path, 1, ""]])
    copy.insert(turn.call["at"] - S, copy.stranger(), [["delete", path]])
    tell_of_a_waiter(copy, turn)


@plant("told_of_a_waiter_that_was_not", run="lonely")
def waiter_that_came_after_the_release(copy):
    turn = copy.plain_turn(after=copy.start() + 5 * S)
    copy.insert(turn.released["at"] + S, copy.stranger(), [["create", turn.path[:-10] + "0000099999", 1, ""]])
    tell_of_a_waiter(copy, turn)
    copy.lines[-1]["at"] = turn.released["at"] + 2 * S


@plant("told_of_a_waiter_that_was_not", run="lonely")
def reader_that_does_not_wait_for_readers(copy):
    turn = copy.plain_turn(lambda turn: turn.grant.get("mode") == "read")
    copy.insert(turn.grant["at"], copy.stranger(), [["create", turn.path[:-10] + "0000099999", 1, ""]])
    tell_of_a_waiter(copy, turn)


@plant("waiter_not_told")
def waiter_that_is_never_told(copy):
    copy.settle()
    turn = copy.plain_turn(lambda turn: "tell_contended" in copy.options(turn.grant["who"]))
    copy.undo("delete", turn.path)
    copy.insert(turn.grant["at"] + MS, copy.stranger(), [["create", turn.path[:-10] + "0000099999", 1, ""]])
    copy.remove_after(turn.grant["who"], turn.grant["at"])


# ---- The end of a waiter's session ----------------------------------------------------------


@plant("joined_again_though_it_was_to_fail")
def waiter_that_does_not_fail_with_its_session(copy):
    turn = copy.plain_turn(lambda turn: waited(turn) and copy.options(turn.grant["who"]).get("fail_on_session_expiry") and
                           copy.boottime(copy.that("create", turn.path)) > turn.call["at"])
    create = copy.that("create", turn.path)
    first = dict(create, session="0x9999")
    copy.transactions += [dict(first, zxid=create["zxid"] - 2, parts=[["create", NOBODYS, 1, f"owner={turn.grant['who']}\n"]]),
                          dict(first, zxid=create["zxid"] - 1, parts=[["close", [NOBODYS]]])]


@plant("waits_after_its_session")
def waiter_that_does_not_hear_of_the_end_of_its_session(copy):
    copy.settle()
    turn = copy.plain_turn(lambda turn: waited(turn) and copy.options(turn.grant["who"]).get("fail_on_session_expiry") and
                           turn.call["deadline_ms"] == -1)
    copy.end_session(turn.grant["session"], turn.grant["at"] - 10 * MS)
    copy.remove_after(turn.grant["who"], turn.grant["at"] - 20 * MS)


@plant("expired_without_cause")
def end_of_a_session_that_lives(copy):
    timed_out(copy)["status"] = "ZKL_SESSION_EXPIRED"


@plant("expired_without_cause")
def waiter_that_was_to_join_again(copy):
    told = copy.find(lambda line: line.get("status") == "ZKL_TIMEOUT" and line["what"] == "acquire" and
                     not copy.options(line["who"]).get("fail_on_session_expiry"))
    copy.insert(told["at"] - 50 * MS, "0x9999", [["open", 4000]])
    copy.insert(told["at"] - 40 * MS, "0x9999", [["close", []]])
    copy.add(told["at"] - 30 * MS, told, "session", session="0x9999")
    told["status"] = "ZKL_SESSION_EXPIRED"


# ---- Elections ------------------------------------------------------------------------------


def told_of_a_leader(copy, term):
    return copy.find(lambda line: line.get("what") == "leader" and line["event"] == "callback" and
                     line["at"] > copy.start() + 5 * S and term(line["term"]))


@plant("lower_term_after_a_higher")
def leader_of_long_ago(copy):
    told = told_of_a_leader(copy, lambda term: term)
    copy.add(told["at"] + 10, told, "callback", what="leader", status="ZKL_OK", term=told["term"] - 1,
             node=told["node"], session=told["session"])


@plant("leader_that_did_not_lead")
def leader_that_waits(copy):
    told = told_of_a_leader(copy, lambda term: term)
    resource, _, name = told["node"].rpartition("/")
    copy.insert(told["at"] - 4 * S, copy.stranger(), [["create", f"{resource}/{name[:-10]}0000000000", 1, ""]])


@plant("leader_that_did_not_lead")
def leader_that_nobody_knows(copy):
    told_of_a_leader(copy, lambda term: term)["node"] = NOBODYS


@plant("leader_that_did_not_lead")
def term_of_another_leader(copy):
    told_of_a_leader(copy, lambda term: term)["term"] += 1


@plant("leader_not_told")
def observer_that_is_blind(copy):
    copy.lines = [line for line in copy.lines if line.get("what") != "leader"]
    copy.insert(copy.start() + 10 * S, copy.stranger(),
                [["create", NOBODYS.replace("nobodys", "lead")[:-10] + "-0000000001", 1, ""]])


@plant("end_of_a_leader_not_told")
def observer_that_falls_asleep(copy):
    told = told_of_a_leader(copy, lambda term: term)
    copy.lines = [line for line in copy.lines if not (line.get("what") == "leader" and line["who"] == told["who"] and
                                                      line["at"] > told["at"])]


def elected(copy):
    return copy.find(lambda line: line.get("what") == "state" and line["state"] == "HELD" and
                     copy.options(line["who"]).get("election"))


@plant("elected_twice")
def elected_once_more(copy):
    told = elected(copy)
    copy.lines.append(dict(told, at=told["at"] + 10))


@plant("elected_not_told")
def elected_in_silence(copy):
    told = elected(copy)
    copy.remove_after(told["who"], told["at"] - 1)


# ---- Jobs -----------------------------------------------------------------------------------


def marking(copy):
    return copy.transaction(lambda one: one["parts"][-1][0] == "create" and one["parts"][-1][1].endswith("/done"))


def job(copy):
    return copy.find(lambda line: line["event"] == "call" and line["what"] == "once" and copy.end_of(line)["ran"] and
                     copy.end_of(line)["status"] == "ZKL_OK")


@plant("success_marked_twice")
def job_that_succeeds_twice(copy):
    one = marking(copy)
    copy.transactions.append(dict(one, zxid=one["zxid"] + 1))


@plant("success_marked_twice")
def job_that_succeeds_twice_in_a_period(copy):
    one = marking(copy)
    *rest, (_, path, _, data) = one["parts"]
    daily = "\n".join("period_ms=86400000" if line.startswith("text=") else line for line in data.split("\n"))
    one["parts"] = [*rest, ["create", path, 0, daily]]
    copy.transactions.append(dict(one, zxid=one["zxid"] + 1))


@plant("marked_by_another")
def mark_with_another_token(copy):
    one = marking(copy)
    part = one["parts"][-1]
    one["parts"] = [*one["parts"][:-1], [*part[:3], part[3].replace("token=", "token=1")]]


@plant("success_that_is_not_marked")
def success_that_no_server_has(copy):
    text = job(copy)["text"]
    copy.transactions = [one for one in copy.transactions if f"text={text}\n" not in str(one["parts"][-1][-1])]


@plant("job_run_again")
def job_that_is_done_and_runs(copy):
    call = job(copy)
    end = copy.end_of(call)
    copy.add_call(end["at"] + 5 * MS, call, "once", "ZKL_OK", ran=True,
                  asked={"resource": call["resource"], "text": call["text"]})


# ---- The store ------------------------------------------------------------------------------


def row(copy, event):
    return copy.find(lambda line: line["event"] == event and line["at"] > copy.start() + 5 * S)


@plant("stale_claim_accepted")
def claim_behind_the_fence(copy):
    copy.lines.append({**row(copy, "claimed"), "token": [1, 0], "at": row(copy, "claimed")["at"] + 1})


@plant("stale_write_accepted")
def write_behind_the_fence(copy):
    row(copy, "written")["token"] = [1, 0]


@plant("valid_write_refused")
def write_that_is_refused_for_nothing(copy):
    write = row(copy, "written")
    copy.end_of(copy.find(lambda line: line["event"] == "call" and line["who"] == write["by"] and
                          line["call"] == write["call"]))["status"] = "refused"
    write.update(event="refused", what="write")


@plant("valid_write_refused")
def claim_that_is_refused_for_nothing(copy):
    row(copy, "claimed").update(event="refused", what="claim")


@plant("accepted_write_lost")
def update_that_is_lost(copy):
    row(copy, "written")["read"] -= 1


@plant("accepted_write_lost")
def last_update_that_is_lost(copy):
    copy.find(lambda line: line["event"] == "held")["value"] -= 1


@plant("write_without_a_grant")
def claim_with_an_invented_token(copy):
    row(copy, "claimed")["token"] = [1 << 50, 0]


@plant("write_told_otherwise")
def write_whose_refusal_was_told_as_success(copy):
    told = copy.find(lambda line: line["event"] == "return" and line["what"] == "store_write")
    told["status"] = "refused" if told["status"] == "ZKL_OK" else "ZKL_OK"


@plant("row_lost")
def row_that_is_gone(copy):
    copy.remove(copy.find(lambda line: line["event"] == "held"))


@plant("written_twice")
def write_that_is_carried_out_twice(copy):
    write = row(copy, "written")
    copy.lines.append(dict(write, at=write["at"] + 1))


# ---- Guarded transactions -------------------------------------------------------------------


def committed(copy):
    """(call, its transaction)"""
    for call in [line for line in copy.lines if line["event"] == "call" and line["what"] == "commit"]:
        for one in copy.transactions:
            if any(part[0] == "set" and part[2] == call["mark"] for part in one["parts"]):
                if copy.end_of(call)["status"] == "ZKL_OK":
                    return call, one
    raise NoPlace


@plant("guarded_write_out_of_turn")
def commit_of_a_waiter(copy):
    turn = copy.plain_turn(waited)
    create = copy.that("create", turn.path)
    copy.transactions.append(dict(create, zxid=create["zxid"] + 1, parts=[["check", turn.path],
                                                                        ["set", "/marks", "mark=early"]]))


@plant("guarded_write_out_of_turn")
def commit_of_a_lost_holder(copy):
    _, one = committed(copy)
    copy.transactions.append(dict(one, zxid=one["zxid"] - 1, session=copy.stranger(),
                                  parts=[["delete", one["parts"][0][1]]]))


@plant("commit_applied_twice")
def commit_that_is_sent_again(copy):
    _, one = committed(copy)
    copy.transactions.append(dict(one, zxid=one["zxid"] + 1))


@plant("refused_commit_applied")
def refusal_that_is_applied_late(copy):
    call, one = committed(copy)
    end = copy.end_of(call)
    end["status"] = "ZKL_LOST"
    copy.transactions.remove(one)
    copy.insert(end["at"] + S, one["session"], one["parts"])


@plant("commit_told_otherwise")
def success_that_no_server_knows(copy):
    copy.transactions.remove(committed(copy)[1])


@plant("commit_told_otherwise")
def refusal_that_was_applied(copy):
    call, _ = committed(copy)
    copy.end_of(call)["status"] = "ZKL_TIMEOUT"


@plant("downgraded_with_a_gap")
def create_and_then_delete(copy):
    one = copy.transaction(lambda one: len(one["parts"]) == 2 and one["parts"][0][0] == "create" and
                           one["parts"][1][0] == "delete")
    copy.transactions.append(dict(one, zxid=one["zxid"] + 1, parts=one["parts"][1:]))
    one["parts"] = one["parts"][:1]


@plant("guarded_by_anothers_node")
def commit_of_another_session(copy):
    committed(copy)[1]["session"] = copy.stranger()


@plant("commit_behind_another_node")
def commit_that_checks_another_node(copy):
    _, one = committed(copy)
    one["parts"] = [["check", NOBODYS], *one["parts"][1:]]


@plant("downgrade_refused_and_done")
def downgrade_that_is_told_as_a_refusal(copy):
    copy.find(lambda line: line["event"] == "return" and line["what"] == "downgrade" and
              line["status"] == "ZKL_OK")["status"] = "ZKL_SERVER_REFUSED"


@plant("downgraded_with_a_gap")
def delete_and_then_create(copy):
    one = copy.transaction(lambda one: len(one["parts"]) == 2 and one["parts"][0][0] == "create" and
                           one["parts"][1][0] == "delete")
    copy.transactions.append(dict(one, zxid=one["zxid"] + 1, parts=one["parts"][:1]))
    one["parts"] = one["parts"][1:]


# ---- Healing --------------------------------------------------------------------------------


def healed(copy, bound_ms=1000):
    rest = copy.find(lambda line: line["event"] == "rest" and line["what"] == "healed")
    rest["bound_ms"] = bound_ms
    return rest


@plant("not_granted_after_healing")
def waiter_that_is_forgotten(copy):
    opened = copy.find(lambda line: line["event"] == "return" and line["what"] == "open")
    copy.add(healed(copy)["at"] - MS, dict(opened, who="late"), "call", what="acquire", call=1, deadline_ms=-1)


@plant("not_granted_in_peace")
def newcomer_that_is_forgotten(copy):
    at = healed(copy)["at"]
    call = copy.find(lambda line: line["event"] == "call" and line["what"] == "acquire" and line["at"] > at)
    copy.remove_after(call["who"], call["at"])


@plant("timed_out_in_peace")
def newcomer_that_is_put_off(copy):
    rest = healed(copy)
    opened = copy.find(lambda line: line["event"] == "return" and line["what"] == "open")
    late = dict(opened, who="late")
    copy.add(rest["at"] + MS, late, "call", what="acquire", call=1, deadline_ms=2000)
    copy.add(rest["at"] + 2003 * MS, late, "return", what="acquire", call=1, status="ZKL_TIMEOUT")


def emptied(copy):
    return copy.find(lambda line: line["event"] == "rest" and line["what"] == "empty")


@plant("node_left")
def node_of_nobody(copy):
    copy.insert(emptied(copy)["at"] - S, copy.stranger(), [["create", NOBODYS, 1, ""]])


@plant("session_left")
def session_that_nobody_ends(copy):
    session = copy.find(lambda line: line["event"] == "session")["session"]
    copy.transaction(lambda one: one["session"] == session and one["parts"][0][0] == "close")["parts"] = [["other", -1]]


@plant("something_left")
def watch_that_is_left(copy):
    emptied(copy)["left"] = {"watches": 1}


@plant("something_left")
def end_at_which_nobody_has_counted(copy):
    emptied(copy)["left"] = {}
