#!/usr/bin/env python3
"""The files of examples/zookeeper: servers that are started from them, as docs/zookeeper.md says, and what `zklock doctor`
finds there; the firewall; the container."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import unittest

import yaml

from command import CommandTest, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLES = os.path.join(ROOT, "examples", "zookeeper")
START_S = 60


def example(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


def replaced(text, changes):
    """Each of `changes` must be there, once: otherwise it would not be tested."""
    for old, new in changes.items():
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    return text


def of_ensemble(function):
    """What a shell function of the ensemble's scripts prints: about Java on this machine, and free ports."""
    line = ("here=$PWD; for file in common zookeeper debian13; do source ./$file.sh; done; set -e; " + function)
    return subprocess.run(["bash", "-c", line], cwd=os.path.join(ROOT, "ensemble"), stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def settings_of(unit):
    """Of a systemd unit: key and value, lines that go on joined."""
    joined = re.sub(r"\\\n\s*", " ", unit)
    return dict(line.split("=", 1) for line in joined.splitlines() if re.match(r"\w+=", line))


def mode_of(address):
    """What srvr says; None: nothing."""
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), 1) as connection:
            connection.sendall(b"srvr")
            answer = connection.makefile("rb").read().decode()
    except OSError:
        return None
    found = re.search(r"Mode: (\w+)", answer)
    return found and found[1]


class Servers(CommandTest):
    """Three servers, from zoo.cfg and the command line of zookeeper.service; only ports and places are others."""

    def setUp(self):
        super().setUp()
        ports = of_ensemble("free_ports").split()
        self.addresses = [f"127.0.0.1:{port}" for port in ports[:3]]
        self.hosts = ["--hosts", ",".join(self.addresses)]
        self.class_path = self.find_class_path()
        for number in range(3):
            self.start_server(number, ports)
        wait_until(lambda: all(map(mode_of, self.addresses)), "all three serve", START_S)

    @staticmethod
    def find_class_path():
        """That of the unit where its packages are installed, and are Debian 13's."""
        ours = settings_of(example("zookeeper.service"))["Environment"].split("=", 1)[1]
        if of_ensemble("if installed_version_will_do; then echo yes; fi"):
            return ours
        return of_ensemble('class_path "$(zookeeper_jars)"')

    def start_server(self, number, ports):
        place = self.path(f"zk{number + 1}")
        os.makedirs(place + "/data")
        changes = {f"server.{i + 1}=zk{i + 1}:2888:3888": f"server.{i + 1}=127.0.0.1:{ports[3 + i]}:{ports[6 + i]}"
                   for i in range(3)}
        changes["clientPort=2181"] = f"clientPort={ports[number]}\nclientPortAddress=127.0.0.1"
        changes["dataDir=/var/lib/zookeeper\n"] = f"dataDir={place}/data\n"
        changes["dataLogDir=/var/lib/zookeeper-log\n"] = f"dataLogDir={place}/log\n"
        with open(place + "/zoo.cfg", "w", encoding="utf-8") as file:
            file.write(replaced(example("zoo.cfg"), changes))
        with open(place + "/data/myid", "w", encoding="ascii") as file:
            file.write(f"{number + 1}\n")
        line = settings_of(example("zookeeper.service"))["ExecStart"]
        line = replaced(line, {"/usr/bin/java ": shutil.which("java") + " ", "/etc/zookeeper/zoo.cfg": place + "/zoo.cfg"})
        with open(place + "/output", "wb") as output:
            self.started.append(subprocess.Popen(  # pylint: disable=consider-using-with
                shlex.split(line), cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, "CLASSPATH": self.class_path}))

    def findings(self, *options):
        out, _ = self.run_it(0, "doctor", "--json", *self.hosts, *options)
        return json.loads(out)

    def assert_doctor_minds_only(self, *expected, options=()):
        """But for the version, whose defect the command line of the unit avoids: no server tells that."""
        found = [one for one in self.findings(*options) if "which doctor cannot see" not in one["text"]]
        self.assertEqual([(one["level"], one["about"]) for one in found if one["level"] != "ok"], list(expected), found)

    def test_servers_catch_up_by_snapshots(self):
        """So says the log of whoever follows: 3.9.3 loses commits otherwise."""
        for number in range(3):
            with open(self.path(f"zk{number + 1}") + "/output", encoding="utf-8") as output:
                log = output.read()
            self.assertTrue("Getting a snapshot from leader" in log or "LEADING - LEADER ELECTION TOOK" in log, log[-2000:])

    def test_doctor_finds_nothing_to_mend_there(self):
        """What it cannot know is that a firewall keeps strangers away."""
        strangers = ("warning", "strangers")
        ours = ["--credentials-file", self.write_secret("key", "digest:locks:secret"), "--parent-acl", "auth::cdrwa"]
        self.run_it(0, "run", *self.hosts, self.resource, "true")
        self.assert_doctor_minds_only(strangers, ("warning", "permissions"))
        self.run_it(0, "secure", "--yes", "--above", *self.hosts, *ours)
        self.assert_doctor_minds_only(strangers, options=ours)

    def test_sessions_last_for_4_to_60_s(self):
        for status, asked, found in (
                (0, "60s", "timeout of 60 s\n"),
                (0, "90s", "timeout of 60 s: the servers do not allow the asked for 90 s\n"),
                (1, "1s", "timeout of 4 s: zklock run needs five ticks")):
            out, _ = self.run_it(status, "doctor", *self.hosts, "--session-timeout", asked)
            self.assertIn(f"session: {found}", out)


class Firewall(unittest.TestCase):
    """On a machine of its own, in a namespace of the kernel."""

    def test_lets_servers_and_clients_in_and_nobody_else(self):
        alone = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net"]
        if subprocess.run([*alone, "nft", "list", "ruleset"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no namespace with a firewall of its own can be made here")
        subprocess.run([*alone, "nft", "--check", "--file", os.path.join(EXAMPLES, "zookeeper.nft")], check=True)
        script = os.path.join(ROOT, "tests", "command", "firewall.py")
        out = subprocess.run([*alone, "python3", script, os.path.join(EXAMPLES, "zookeeper.nft")], stdout=subprocess.PIPE,
                             check=True, timeout=60).stdout
        self.assertEqual(json.loads(out), {
            "ports": {"server": [22, 2181, 2888, 3888], "client": [22, 2181], "client of the network": [22, 2181],
                      "stranger": [22]},
            "stood before": True, "stands": False})


class Files(unittest.TestCase):
    def test_unit_is_one(self):
        subprocess.run(["systemd-analyze", "verify", os.path.join(EXAMPLES, "zookeeper.service")], check=True)

    def test_all_name_the_same_places(self):
        configuration = dict(re.findall(r"(?m)^(dataDir|dataLogDir|clientPort)=(.*)$", example("zoo.cfg")))
        places = [configuration["dataDir"], configuration["dataLogDir"]]
        unit = settings_of(example("zookeeper.service"))
        self.assertEqual(["/var/lib/" + name for name in unit["StateDirectory"].split()], places)
        server = yaml.safe_load(example("compose.yml"))["services"]["zookeeper"]
        self.assertEqual([server["environment"]["ZOO_DATA_DIR"], server["environment"]["ZOO_DATA_LOG_DIR"]], places)
        self.assertEqual(server["volumes"], ["./zoo.cfg:/conf/zoo.cfg:ro", *(f"{place}:{place}" for place in places)])
        self.assertEqual(server["network_mode"], "host")
        self.assertEqual(configuration["clientPort"], "2181")


if __name__ == "__main__":
    unittest.main()
