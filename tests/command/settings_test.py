#!/usr/bin/env python3
"""Where the command finds its servers, and how it shows who it is."""

import os
import subprocess
import unittest

from command import HOSTS, ZKLOCK, CommandTest


class Settings(CommandTest):
    def setUp(self):
        super().setUp()
        self.hosts = HOSTS
        self.environment = {name: value for name, value in os.environ.items() if name != "ZKLOCK_HOSTS"}
        self.environment["XDG_CONFIG_HOME"] = self.directory

    def write(self, name, text, mode=0o600):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def ls(self, status, *options):
        return self.run_it(status, "ls", "--connect-timeout", "10s", *options, env=self.environment)

    def test_of_the_command_line(self):
        self.ls(0, "--hosts", self.hosts)

    def test_of_the_environment(self):
        self.environment["ZKLOCK_HOSTS"] = self.hosts
        self.ls(0)

    def test_of_the_usual_file(self):
        self.write("zklock/config", f"# ours\n\n hosts = {self.hosts} \nlock-root=/locks\n")
        self.ls(0)

    def test_of_a_file_that_is_named(self):
        path = self.write("other/config", f"hosts={self.hosts}\n")
        self.ls(0, "--config", path)
        self.environment["ZKLOCK_CONFIG"] = path
        self.ls(0)

    def test_the_first_counts(self):
        self.write("zklock/config", "hosts = 127.0.0.1:1\n")
        self.environment["ZKLOCK_HOSTS"] = self.hosts
        self.ls(0)
        self.environment["ZKLOCK_HOSTS"] = "127.0.0.1:1"
        self.ls(0, "--hosts", self.hosts)

    def test_an_empty_variable_is_none(self):
        self.write("zklock/config", f"hosts = {self.hosts}\n")
        for name in "HOSTS", "CONFIG", "TLS_CA_FILE", "SESSION_TIMEOUT", "CREDENTIALS_FILE":
            self.environment[f"ZKLOCK_{name}"] = ""
        self.ls(0)

    def test_a_file_may_be_of_another_system_and_without_an_end(self):
        self.write("zklock/config", f"# ours\r\nhosts = {self.hosts}\r\nlock-root = /locks")
        self.ls(0)
        self.write("zklock/config", "#" * 70000)
        self.assertIn("at most 65536 bytes", self.ls(64)[1])

    def test_a_broken_file_is_told_by_its_line(self):
        broken = {
            "hosts\n": "config:1: 'hosts' must be NAME = VALUE",
            "\nhots = x\n": "config:2: 'hots' is not a setting",
            "hosts = a\nhosts = b\n": "config:2: 'hosts' is given a second time",
            "session-timeout = soon\n": "session-timeout 'soon'",
            "hosts = a b\n": "a b",
            "x\0y": "must be text",
        }
        for text, message in broken.items():
            with self.subTest(text):
                self.write("zklock/config", text)
                self.assertIn(message, self.ls(64)[1])
        self.assertIn("no-such-file", self.ls(64, "--config", "/no-such-file")[1])

    def test_messages_name_settings_not_fields_of_the_library(self):
        wrong = {
            ("--lock-root", "x"): 'lock-root "x": must be',
            ("--lock-root", "lock_root"): 'lock-root "lock_root": must be',
            ("--node-acl", "x"): 'node-acl "x"',
            ("--parent-acl", "x"): 'parent-acl "x"',
            ("--tls-key-file", "/x"): "tls-key-file: means nothing without tls-ca-file",
            ("--tls-ca-file", "/x"): "tls-certificate-file: must be given",
            ("--tls-server-names", "x"): "tls-server-names: means",
            ("--sasl-user", "x"): "sasl-user: means nothing without sasl-mechanism",
            ("--sasl-service", "x"): "sasl-service: means",
            ("--sasl-host", "x"): "sasl-host: means",
            ("--elect", "x\x01"): '--elect "x?"',
            ("--tick-time", "60s", "--session-timeout", "10s"): "with tick-time in ms 60000",
        }
        for options, message in wrong.items():
            with self.subTest(options):
                _, err = self.run_it(64, "run", "--hosts", self.hosts, *options, "x", "true", env=self.environment)
                self.assertIn(message, err)
                self.assertNotRegex(err.replace('"lock_root"', ""), r"[a-z]_[a-z]|note|NULL")

    def test_secrets_are_in_files_that_nobody_else_can_read(self):
        path = self.write("secrets/credentials", "digest:me:of my own\n")
        for mode in 0o644, 0o640, 0o604, 0o620, 0o602:
            os.chmod(path, mode)
            self.assertIn("chmod 600", self.ls(64, "--hosts", self.hosts, "--credentials-file", path)[1])
        os.chmod(path, 0o600)
        self.ls(0, "--hosts", self.hosts, "--credentials-file", path)
        self.write("secrets/credentials", "digest of me\n")
        _, err = self.ls(64, "--hosts", self.hosts, "--credentials-file", path)
        self.assertIn("line 1", err)
        self.assertNotIn("of me", err)

    def test_a_secret_has_no_CR_at_its_end(self):
        root = f"/{self.resource}"
        for text, status in ("digest:me:mine\n", 0), ("digest:me:mine\r\n\r\n", 0), ("digest:me:mine2\n", 77):
            path = self.write("secrets/credentials", text)
            self.run_it(status, "run", "--hosts", self.hosts, "--lock-root", root, "--credentials-file", path,
                        "--parent-acl", "auth::cdrwa", "x", "true", env=self.environment)

    def test_a_secret_may_come_bit_by_bit(self):
        line = f"{ZKLOCK} ls --hosts {self.hosts} --credentials-file <(printf dig; sleep 0.2; echo est:me:mine)"
        self.assertEqual(subprocess.run(["bash", "-c", line], env=self.environment, check=False,
                                        stdout=subprocess.DEVNULL).returncode, 0)

    def test_the_password_of_SASL_is_a_secret(self):
        path = self.write("secrets/password", "mine\n", mode=0o644)
        _, err = self.ls(64, "--hosts", self.hosts, "--sasl-mechanism", "DIGEST-MD5", "--sasl-user", "me",
                         "--sasl-password-file", path)
        self.assertIn("chmod 600", err)

    def test_a_lock_that_only_we_may_break(self):
        credentials = self.write("secrets/credentials", "digest:me:of my own\n")
        root = f"/{self.resource}"
        mine = ["--hosts", self.hosts, "--lock-root", root, "--credentials-file", credentials,
                "--node-acl", "auth::cdrwa,world:anyone:r", "--parent-acl", "auth::cdrwa"]
        self.run_it(0, "run", *mine, "mine", "true", env=self.environment)
        _, err = self.run_it(77, "run", "--hosts", self.hosts, "--lock-root", root, "mine", "true", env=self.environment)
        self.assertIn("no permission", err)


if __name__ == "__main__":
    unittest.main()
