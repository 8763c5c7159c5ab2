#!/usr/bin/python3
"""The files of examples/operations: each is read by its own tool, and what it says is run on real servers."""

import getpass
import glob
import grp
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import unittest
import uuid

import yaml

from command import HOSTS, QUICK, ZKLOCK, CommandTest, create, wait_until

FILES = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "operations")
TERMINATED = 128 + signal.SIGTERM
IN_VAIN = {64, 77, 126, 127}  # what another attempt cannot mend


def read(name):
    with open(os.path.join(FILES, name), encoding="utf-8") as file:
        return file.read()


class JobsTest(CommandTest):
    """Each test has a lock root of its own, so that the command lines are run as they are in the files; and programs of
    its own for those that the files name."""

    def setUp(self):
        super().setUp()
        root = f"/jobs-{uuid.uuid4().hex[:12]}"
        create([root])
        os.symlink(ZKLOCK, self.path("zklock"))
        self.write_program("report", "echo report >>report.log")
        self.write_program("shop", "trap 'echo stopped >>shop.log; exit 3' TERM; echo $$ >pid; sleep 60 & wait")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("ZKLOCK_")}
        self.environment["ZKLOCK_LOCK_ROOT"] = root
        self.environment["ZKLOCK_SESSION_TIMEOUT"] = QUICK[-1]
        self.environment["ZKLOCK_CONFIG"] = self.path("config")
        with open(self.path("config"), "w", encoding="utf-8") as file:
            file.write(re.sub("^hosts = .*", f"hosts = {HOSTS}", read("config"), flags=re.M).replace("2s", "500ms"))

    def write_program(self, name, line):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncd {self.directory}\n{line}\n")
        os.chmod(self.path(name), 0o755)

    def here(self, text):
        """The same with the programs of this test."""
        return text.replace("/usr/local/bin", self.directory)

    def reports(self):
        return len(self.text_of("report.log").splitlines())

    def start(self, *arguments, **more):
        """A command line of a file; `zklock` and its options otherwise."""
        if os.path.isabs(arguments[0]):
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                       stderr=subprocess.PIPE, cwd=self.directory, env=self.environment, **more)
            self.started.append(process)
            return process
        return super().start(*arguments, env=self.environment, **more)

    def check(self, *command):
        """What a tool says of a file, and whether it is content."""
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return result.returncode == 0, result.stdout


class Systemd(JobsTest):
    def verify(self, change=lambda text: text):
        paths = []
        for name in glob.glob(os.path.join(FILES, "systemd", "*")):
            paths.append(self.path(os.path.basename(name)))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(change(self.here(read(name))))
        # Content it is in either case; it must not have said anything.
        return self.check("systemd-analyze", "verify", "--man=no", *paths)[1]

    def values(self, unit, key):
        return re.findall(f"^{key}=(.*)$", read(f"systemd/{unit}"), re.M)

    def command_line(self, unit):
        line, = self.values(unit, "ExecStart")
        return shlex.split(self.here(line).replace("%H", "machine-7"))

    def statuses(self, unit, key):
        return {int(status) for status in self.values(unit, key)[0].split()}

    def start_shop(self):
        process = self.start(*self.command_line("shop-leader.service"))
        wait_until(lambda: self.text_of("pid").endswith("\n"), "the service runs")
        os.unlink(self.path("pid"))
        return process

    def stop(self, process):
        """As systemd does with KillMode=mixed."""
        self.signal(process, signal.SIGTERM)
        process.communicate()
        return process.returncode

    def test_units_are_right(self):
        self.assertEqual(self.verify(), "")
        self.assertIn("KillMod", self.verify(lambda text: text.replace("KillMode", "KillMod")))
        self.assertIn("25:00", self.verify(lambda text: text.replace("02:00", "25:00")))
        self.assertIn("not executable", self.verify(lambda text: text.replace("/zklock", "/zklok")))

    def test_the_job_succeeds_once(self):
        for _ in range(2):
            self.end(self.start(*self.command_line("nightly-report.service")), 0)
        self.assertEqual(self.reports(), 1)

    def test_what_another_attempt_cannot_mend_is_not_tried_again(self):
        for unit, option in ("nightly-report.service", "--period"), ("shop-leader.service", "--elect"):
            self.assertEqual(self.statuses(unit, "RestartPreventExitStatus"), IN_VAIN)
            self.assertEqual(self.statuses(unit, "SuccessExitStatus"), {TERMINATED})
            self.assertEqual(self.values(unit, "KillMode"), ["mixed"])
            line = self.command_line(unit)
            self.end(self.start(*[argument.replace(option, "--perod") for argument in line]), 64)
            self.end(self.start(*line[:-1], self.path("no-such-program")), 127)
            self.end(self.start(*line[:-1], self.directory), 126)

    def test_the_job_is_tried_again_after_a_failure_of_its_own_and_without_servers(self):
        line = self.command_line("nightly-report.service")
        self.write_program("report", "echo report >>report.log; exit 3")
        self.end(self.start(*line), 3)
        self.environment.update(ZKLOCK_HOSTS="127.0.0.1:1", ZKLOCK_CONNECT_TIMEOUT="1s")
        self.end(self.start(*line), 69)
        self.assertEqual(self.reports(), 1)

    def test_a_service_that_is_stopped_is_followed_at_once(self):
        first = self.start_shop()
        second = self.start(*self.command_line("shop-leader.service"))
        wait_until(lambda: len(self.queue("shop-leader")) == 2, "the second waits")
        self.stop(first)
        self.assertEqual(first.returncode, 3)
        wait_until(lambda: self.text_of("pid").endswith("\n"), "the second runs", 2)
        self.assertEqual(self.text_of("shop.log"), "stopped\n")
        self.stop(second)

    def test_a_stop_while_it_waits_is_no_failure(self):
        first = self.start_shop()
        second = self.start(*self.command_line("shop-leader.service"))
        wait_until(lambda: len(self.queue("shop-leader")) == 2, "the second waits")
        self.assertEqual(self.stop(second), TERMINATED)
        self.stop(first)

    def test_a_service_whose_lock_is_lost_ends_so_that_it_is_started_again(self):
        first = self.start_shop()
        node, = self.queue("shop-leader")
        self.run_it(0, "break", "--yes", "shop-leader", node["node"])
        self.end(first, 75)
        self.assertEqual(self.text_of("shop.log"), "stopped\n")

    def test_observers_are_told_the_machine(self):
        first = self.start_shop()
        self.assertIn("note=machine-7", self.queue("shop-leader")[0]["data"])
        self.stop(first)


class Cron(JobsTest):
    FILE = "cron/nightly-report"

    def crontab(self, text):
        """The table without its column for the user, which only files of /etc/cron.d have."""
        with open(self.path("crontab"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^([*0-9](?:\S+ +){4}\S+ +)report +", r"\1", text, flags=re.M))
        return self.check("crontab", "-n", self.path("crontab"))

    def line(self):
        line, = [line for line in read(self.FILE).splitlines() if re.match("[*0-9]", line)]
        return line.split(None, 6)

    def run_line(self, status):
        variables = dict(re.findall("^([A-Z]+)=(.*)$", read(self.FILE), re.M))
        path = variables["PATH"].replace("/usr/local/bin", self.directory)
        kept = {name: value for name, value in self.environment.items() if name.startswith("ZKLOCK_")}
        self.environment = {**kept, "PATH": path}
        return self.end(self.start(variables["SHELL"], "-c", self.here(self.line()[6])), status)

    def test_the_table_is_right(self):
        text = read(self.FILE)
        self.assertTrue(self.crontab(text)[0], self.crontab(text)[1])
        self.assertFalse(self.crontab(text.replace("2-5 ", "2-25 "))[0])
        self.assertRegex(os.path.basename(self.FILE), "^[A-Za-z0-9_-]+$")  # cron reads no others
        self.assertEqual(self.line()[5], "report")
        self.assertNotIn("%", self.line()[6])  # a new line, for cron

    def test_the_job_succeeds_once_and_cron_has_nothing_to_mail(self):
        for _ in range(2):
            self.assertEqual(self.run_line(0), ("", ""))
        self.assertEqual(self.reports(), 1)

    def test_who_finds_another_machine_at_it_leaves_it_at_that(self):
        self.write_program("report", "echo report >>report.log; while [ ! -e go ]; do sleep 0.02; done")
        first = self.start(ZKLOCK, "once", "nightly-report", "--", self.path("report"))
        wait_until(lambda: self.reports() == 1, "the job runs")
        self.assertEqual(self.run_line(0), ("", ""))
        self.write_program("go", "")
        self.end(first, 0)

    def test_a_failure_is_mailed_and_repeated(self):
        self.write_program("report", "echo report >>report.log; echo bad >&2; exit 3")
        for _ in range(2):
            self.assertEqual(self.run_line(3), ("", "bad\n"))
        self.assertEqual(self.reports(), 2)


class Logrotate(JobsTest):
    def rotate(self, *options, change=lambda text: text):
        with open(self.path("logrotate"), "w", encoding="utf-8") as file:
            file.write(change(read("logrotate/zklock").replace("/var/log/zklock", self.directory))
                       .replace("su report adm", f"su {getpass.getuser()} {grp.getgrgid(os.getgid()).gr_name}"))
        os.chmod(self.path("logrotate"), 0o644)
        return self.check("/usr/sbin/logrotate", "--state", self.path("state"), *options, self.path("logrotate"))

    def test_the_file_is_right(self):
        content, said = self.rotate("--debug")
        self.assertTrue(content, said)
        self.assertNotIn("error", said)
        self.assertIn("error", self.rotate("--debug", change=lambda text: text.replace("weekly", "weakly"))[1])

    def test_a_holder_goes_on_in_a_new_file(self):
        self.write_program("report", "touch begun; while [ ! -e go ]; do sleep 0.02; done")
        process = self.start(ZKLOCK, "run", "--log", self.path("report.log"), "report", "--", self.path("report"))
        wait_until(lambda: os.path.exists(self.path("begun")), "the job runs")
        self.assertEqual(self.rotate("--force"), (True, ""))
        self.assertEqual(self.text_of("report.log"), "")
        self.write_program("go", "")
        self.end(process, 0)
        with gzip.open(self.path("report.log.1.gz"), "rt", encoding="utf-8") as file:
            before = [json.loads(line)["event"] for line in file]
        after = [json.loads(line)["event"] for line in self.text_of("report.log").splitlines()]
        self.assertIn("acquired", before)
        self.assertIn("released", after)


def can_be_first():
    """Whether we may start a process in a process namespace of its own."""
    return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


class Kubernetes(JobsTest):
    def container(self, name, which):
        document, = yaml.safe_load_all(read(f"kubernetes/{name}.yaml"))
        spec = document["spec"]
        pod = (spec["jobTemplate"]["spec"] if document["kind"] == "CronJob" else spec)["template"]["spec"]
        container, = [each for each in pod["containers"] if each["name"] == which]
        return document, container

    def start_container(self, container, pod):
        """Its command is process 1 of a namespace, as in a container."""
        self.environment["PATH"] = f"{self.directory}:{os.environ['PATH']}"
        mine = self.path(pod)
        os.makedirs(mine, exist_ok=True)
        for variable in container["env"]:
            # What the file says of the servers is not for us.
            value = HOSTS if variable["name"] == "ZKLOCK_HOSTS" else pod
            self.assertTrue("value" in variable or variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name")
            self.environment[variable["name"]] = value
        command = [self.here(word).replace("/leader/", f"{mine}/") for word in container["command"]]
        process = self.start("/usr/bin/env", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command)
        return process

    @staticmethod
    def first_of(process):
        """The process 1 of it."""
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def setUp(self):
        super().setUp()
        if not can_be_first():
            self.skipTest("no process namespace may be made here")

    def test_the_job_succeeds_once(self):
        document, container = self.container("nightly-report", "report")
        self.assertEqual(document["spec"]["timeZone"], "Etc/UTC")
        for pod in "pod-a", "pod-b":
            _, err = self.end(self.start_container(container, pod), 0)
        self.assertIn("done already", err)
        self.assertEqual(self.reports(), 1)

    def test_what_another_attempt_cannot_mend_fails_the_job(self):
        document, container = self.container("nightly-report", "report")
        rule, = document["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
        self.assertEqual(rule["onExitCodes"]["containerName"], container["name"])
        self.assertEqual(set(rule["onExitCodes"]["values"]), IN_VAIN)
        self.assertEqual(rule["action"], "FailJob")
        self.write_program("report", "exit 3")
        self.end(self.start_container(container, "pod-a"), 3)

    def test_the_job_stops_when_its_pod_is_deleted(self):
        _, container = self.container("nightly-report", "report")
        self.write_program("report", "trap 'echo stopped >>report.log; exit 4' TERM; echo $$ >pid; sleep 60 & wait")
        process = self.start_container(container, "pod-a")
        wait_until(lambda: self.text_of("pid").endswith("\n"), "the job runs")
        self.signal(self.first_of(process), signal.SIGTERM)
        self.end(process, 4)
        self.assertEqual(self.text_of("report.log"), "stopped\n")

    def token_of(self, pod):
        return self.text_of(f"{pod}/token").strip()

    def start_leader(self, pod):
        _, container = self.container("shop-leader", "leader")
        return self.start_container(container, pod)

    def test_a_sidecar_says_who_leads(self):
        first = self.start_leader("pod-a")
        wait_until(lambda: self.token_of("pod-a"), "the first leads")
        second = self.start_leader("pod-b")
        wait_until(lambda: len(self.queue("shop-leader")) == 2, "the second waits")
        self.assertEqual(self.token_of("pod-b"), "")
        self.assertEqual(int(self.token_of("pod-a")), int(self.queue("shop-leader")[0]["token"]))
        self.signal(self.first_of(first), signal.SIGTERM)
        first.communicate()
        self.assertEqual(self.token_of("pod-a"), "")
        wait_until(lambda: self.token_of("pod-b"), "the second leads", 2)
        self.signal(self.first_of(second), signal.SIGTERM)
        second.communicate()

    def test_a_sidecar_that_has_lost_its_lock_says_so(self):
        first = self.start_leader("pod-a")
        wait_until(lambda: self.token_of("pod-a"), "it leads")
        self.run_it(0, "break", "--yes", "shop-leader", self.queue("shop-leader")[0]["node"])
        self.end(first, 75)
        self.assertEqual(self.token_of("pod-a"), "")

    def test_a_sidecar_that_was_killed_leaves_a_file_that_gets_old(self):
        def touched():
            return os.stat(self.path("pod-a/token")).st_mtime_ns

        first = self.start_leader("pod-a")
        wait_until(lambda: self.token_of("pod-a"), "it leads")
        begun = touched()
        wait_until(lambda: touched() > begun, "it touches the file")
        self.signal(self.first_of(first), signal.SIGKILL)
        first.communicate()
        old = touched()
        second = self.start_leader("pod-b")
        wait_until(lambda: self.token_of("pod-b"), "the second leads")
        self.assertEqual(touched(), old)
        first = self.start_leader("pod-a")
        wait_until(lambda: len(self.queue("shop-leader")) == 2, "the next container of the first waits")
        self.assertEqual(self.token_of("pod-a"), "")
        for process in first, second:
            self.signal(self.first_of(process), signal.SIGTERM)
            process.communicate()


if __name__ == "__main__":
    unittest.main()
