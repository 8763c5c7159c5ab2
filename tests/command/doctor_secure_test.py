#!/usr/bin/env python3
"""zklock doctor with TLS and with SASL: tests/run --help, suite secure. The argument is the class: Tls or Sasl."""

import json
import os
import re
import unittest

from command import HOSTS, CommandTest

KEYS = os.environ["ZKLOCK_KEYS"]
STRANGERS_END = "end, shorten or prolong every session"


class Doctor(CommandTest):
    """Each test has a lock root of its own."""

    def setUp(self):
        super().setUp()
        self.root = ["--lock-root", f"/{self.resource}"]

    def make_root(self, *options):
        self.run_it(0, "run", *options, *self.root, "x", "true")

    def assert_doctor_finds(self, status, options, *expected):
        """In the text and in JSON."""
        out, _ = self.run_it(status, "doctor", *options, *self.root)
        found = json.loads(self.run_it(status, "doctor", "--json", *options, *self.root)[0])
        for level, about, text in expected:
            self.assertRegex(out, f"(?m)^{level} +{about}: {text}")
            self.assertTrue([one for one in found if (one["level"], one["about"]) == (level, about)
                             and re.match(text, one["text"])], (level, about, text, found))


class Tls(Doctor):
    """The servers ask for the client's certificate."""

    ours = ["--hosts", os.environ.get("ZKLOCK_SECURE_HOSTS", ""), "--tls-ca-file", f"{KEYS}/ca.pem",
            "--tls-certificate-file", f"{KEYS}/client.pem", "--tls-key-file", f"{KEYS}/client.key"]

    def test_says_what_it_cannot_test_there(self):
        self.make_root(*self.ours)
        self.assert_doctor_finds(
            0, self.ours,
            ("ok", "library", "zklock .*; its libzookeeper has TLS and SASL$"),
            ("not tested", "servers", "version, latency, role, tickTime: "),
            ("not tested", "strangers", f"whether one without a certificate gets a session: .*clientAuth=need.*{STRANGERS_END}"),
            ("ok", "protection", "the servers know our identity$"))

    def test_finds_a_root_that_is_open(self):
        self.make_root(*self.ours)
        self.assert_doctor_finds(0, self.ours, (
            "warning", "permissions", "somebody who shows nothing but our certificate could delete our node: whoever may connect "
            f"can break every lock below /{self.resource}; zklock secure closes them$"))

    def test_does_not_call_open_what_is_for_our_certificate(self):
        """The servers take it for the identity x509:CN=client."""
        ours = [*self.ours, "--parent-acl", "x509:CN=client:cdrwa,world:anyone:r"]
        self.make_root(*ours)
        self.assert_doctor_finds(0, ours, (
            "not tested", "permissions", "whether one with another certificate can delete our node: ours alone is enough"))
        self.assertIn("nothing is open", self.run_it(0, "secure", *ours, *self.root)[0])

    def test_finds_a_root_closed_that_needs_more_than_our_certificate(self):
        ours = [*self.ours, "--credentials-file", self.write_secret("key", "digest:ops:secret"), "--parent-acl",
                "digest:ops:w4PIv8/Wzcq4qj4/MfEQ8pvUSS4=:cdrwa"]
        self.make_root(*ours)
        self.assert_doctor_finds(0, ours, ("ok", "permissions", "a stranger could not delete our node: .*no permission"))


class Sasl(Doctor):
    """The servers require a login."""

    ours = ["--hosts", HOSTS, "--sasl-mechanism", "DIGEST-MD5", "--sasl-user", "zklock", "--sasl-password-file",
            f"{KEYS}/password"]

    def test_finds_that_a_stranger_gets_a_session_and_no_more(self):
        self.make_root(*self.ours)
        self.assert_doctor_finds(
            0, self.ours,
            ("ok", "library", "zklock .*; its libzookeeper has TLS and SASL$"),
            ("warning", "strangers", f"a stranger gets a session, and .*{STRANGERS_END}.*neither SASL nor ACLs do"),
            ("ok", "protection", "the servers know our identity$"),
            ("ok", "permissions", "a stranger could not delete our node: ZooKeeper refused the client's authentication$"))

    def test_finds_that_we_have_not_logged_in(self):
        self.make_root(*self.ours)
        self.assert_doctor_finds(
            1, [], ("warning", "strangers", "a stranger gets a session"),
            ("bad", "locks", "none could be acquired: ZooKeeper refused the client's authentication"))


if __name__ == "__main__":
    unittest.main()
