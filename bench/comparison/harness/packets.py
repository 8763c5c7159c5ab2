"""Packets that are lost: by nftables, in the network namespace that bench/compare gives the harness."""
import itertools
import json
import subprocess

from .servers import CannotServe

numbers = itertools.count(1)


def nft(*words, text=None):
    asked = subprocess.run(["nft", *words], input=text, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise CannotServe(f"nft {' '.join(words)}: {asked.stderr.strip()[-300:]}")
    return asked.stdout


class LostPackets:
    """A share of those from and to some ports, in a table of its own. Who sends them is not told."""

    def __init__(self, ports, percent):
        self.table = f"lost-{next(numbers)}"
        some = f"{{ {', '.join(map(str, ports))} }}"
        lose = f"numgen random mod 100 < {percent} counter name lost drop"
        nft("-f", "-", text=f"""table inet {self.table} {{
            counter lost {{ }}
            chain arriving {{
                type filter hook input priority 0;
                tcp dport {some} {lose}
                tcp sport {some} {lose}
            }}
        }}""")

    def count(self):
        """So many so far."""
        listed = json.loads(nft("-j", "list", "counter", "inet", self.table, "lost"))["nftables"]
        return next(one["counter"]["packets"] for one in listed if "counter" in one)

    def end(self):
        nft("delete", "table", "inet", self.table)
