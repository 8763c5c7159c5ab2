"""Fencing tokens."""
import collections

from .. import bounds
from ..judge import rule
from ..names import conflict

REMEMBERED = 64  # grants of a resource


class Tokens:
    """The last grants of a resource."""

    def __init__(self):
        self.grants = collections.deque(maxlen=REMEMBERED)
        self.greatest = (0, 0)


@rule("granted", "Of two conflicting grants of a resource, the later one has the greater token.")
def token_did_not_rise(world, hold):
    for node in hold.nodes:
        tokens = world.notes["tokens"].setdefault(node.resource, Tokens())
        begun = max(hold.call.at, node.born if node.entitled_at is None else node.entitled_at)
        for at, token, mode, who in tokens.grants if hold.token <= tokens.greatest else ():
            if token >= hold.token and at + bounds.CLOCK < begun and conflict(hold.mode_at(node), mode):
                yield f"{hold} was granted {node.resource} after {who} with the token {token[0]}.{token[1]}"
        tokens.grants.append((hold.at, hold.token, hold.mode_at(node), hold.handle.who))
        tokens.greatest = max(tokens.greatest, hold.token)


@rule("granted", "of two conflicting grants with the same token, the later one has the greater number.")
def local_number_did_not_rise(world, hold):
    if not hold.is_lent or hold.only_reads:
        return
    node = hold.nodes[0]
    if hold.token[1] <= node.local_number:
        yield f"{hold} was lent {node.path} after the number {node.local_number}"
    node.local_number = max(node.local_number, hold.token[1])


@rule("granted", "From 1; 0 for all other locks, whose token is one number.")
def local_number_of_another_kind(world, hold):
    if hold.nodes and hold.handle.library == "zklock" and hold.is_lent != (hold.token[1] > 0):
        yield f"{hold} has the local number {hold.token[1]}, and {hold.nodes[0].path} is " \
            f"{'lent' if hold.is_lent else 'its own'}"


@rule("granted", "gives each grant a number by which your data can tell an old holder from a new one.")
def token_given_twice(world, hold):
    for node in hold.nodes:
        if node.hold is not None and node.hold is not hold and node.hold.token == hold.token:
            yield f"{hold} has the token that {node.hold} was granted"
