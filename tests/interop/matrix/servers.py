"""What is asked of the servers beside the contenders: nodes, sessions and connections."""
import os
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import make_acl

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [f"{TOP}/bench", f"{TOP}/tests/chaos"]
from comparison.harness.proxy import Proxy  # noqa: E402  pylint: disable=wrong-import-position
from world.wire import password_of  # noqa: E402  pylint: disable=wrong-import-position

HOSTS = os.environ["ZKLOCK_HOSTS"]
TIMEOUT_S = 20


def connect(**more):
    """With the credential of closed servers, where they are closed (tests/ensemble/support/closed.h)."""
    if "ZKLOCK_CLOSED" in os.environ:
        more["auth_data"] = [("digest", os.environ["ZKLOCK_CLOSED"])]
        more["default_acl"] = [make_acl("auth", "", all=True)]
    client = KazooClient(hosts=HOSTS, timeout=TIMEOUT_S, **more)
    client.start(timeout=30)
    return client


def end_session(session_id):
    """As anybody can who reaches the servers: docs/security.md, "Sessions are no secret"."""
    taken = connect(client_id=(session_id, password_of(session_id)))
    assert taken.client_id[0] == session_id, "the session was over already"
    taken.stop()
    taken.close()


class Tree:
    """The nodes of one path."""

    def __init__(self, client, path):
        self.client = client
        self.path = path

    def children(self):
        try:
            return self.client.get_children(self.path)
        except NoNodeError:
            return []

    def count(self):
        """Of those that are somebody's request, and not a folder."""
        return sum(name[-10:].isdigit() or len(name) == 32 for name in self.children())

    def data(self, name):
        return self.client.get(f"{self.path}/{name}")[0].decode(errors="replace")

    def remove(self):
        self.client.delete(self.path, recursive=True)


def proxy():
    """In front of the first server."""
    return Proxy(int(HOSTS.split(",")[0].rpartition(":")[2]))
