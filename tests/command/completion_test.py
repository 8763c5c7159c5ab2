#!/usr/bin/env python3
"""Completion in bash, zsh and fish, on a pseudo-terminal. Names are whatever strangers have made: what is inserted reaches
the command as exactly that name, and nothing else is run. The servers' answers are a script's."""

import os
import pty
import signal
import subprocess
import tempfile
import termios
import unittest

from command import ZKLOCK, wait_until

COMPLETIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../command/completions")
RUNS = "touch ran"

# As zklock to the shell, but for what the servers would be asked. What is run in the end is written down.
STUB = """#!/bin/sh
case "$1 $2 $3" in
"ls -0 "*) cat "$ANSWERS/resources" ;;
"status -0 "*) cat "$ANSWERS/nodes"; printf '%s\\0' "$@" >"$ANSWERS/asked" ;;
"help settings " | --help* | *" --help ") exec "$REAL" "$@" ;;
*) printf '%s\\0' "$@" >"$ANSWERS/called.new" && mv "$ANSWERS/called.new" "$ANSWERS/called" ;;
esac
"""

HOSTILE = [
    f"$({RUNS})", f"`{RUNS}`", f"x;{RUNS}", f";{RUNS};", f"|{RUNS}", f"&{RUNS}&", f">{RUNS}", f"'{RUNS}'", f'"$({RUNS})"',
    f"x'$({RUNS})'", f'x"`{RUNS}`"', f"x'\"$({RUNS})\"'", f"\\$({RUNS})", f"x\\`{RUNS}`", f"${{x:-$({RUNS})}}", f"${{x[$({RUNS})]}}",
    f"x[$({RUNS})]", f"[$({RUNS})", f"x:[{RUNS}]", f"x:$({RUNS})", f"x=$({RUNS})", f"<({RUNS})", f"=({RUNS})", f"({RUNS})",
    "two words", " at both ends ", "a  b", "it's", '"quoted"', "x'", 'x"', "\\", "x\\", "a\\b", "a\\ b",
    "!", "!!", "x!y", "it's!", '"!"', "^a^b", "*", "?", "[a-z]*", "**", "{a,b}", "x=~", "x:~root", "#", "x#y",
    "$", "$HOME", "${x}", "$'x'", "%1", "=ls", "@", "(", ")", "a:b", "a:b:c", ":", "a::", "x=y", "=", "a/stripe-0001", ";", "&&",
    "\u00fc\u4e2d\u6587", "\u202etxt", "a\u2028b", "e\u0301", "&", "a&b", "true", "0", "1", "<", ">x", "a|b", "a,b", "if",
]
# No server has such a name, but who says that it is one?
CONTROL = [f"x\n{RUNS}\n", f"\n{RUNS}", "a\nb", "a\n!b'c", "a\tb", "\t", "\x1b[2J", "a\rb", f"\x03{RUNS}\r", "a\x7fb", "\x01", "\x9b"]
TILDES = ["~", "~root"]
LIKE_OPTIONS = ["-x", "--hosts=x", "--config", "-", "--", "--help"]


class Shell:
    """Runs until it is closed. Once it has a prompt it reads key by key."""

    def __init__(self, directory, arguments, environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(arguments[0], arguments, environment)
        self.seen = b""
        os.set_blocking(self.terminal, False)
        self.wait_for_prompt()

    def read(self):
        try:
            self.seen += os.read(self.terminal, 65536)
        except BlockingIOError:
            pass

    def has_prompt(self):
        self.read()
        return not termios.tcgetattr(self.terminal)[3] & termios.ICANON

    def wait_for_prompt(self):
        wait_until(self.has_prompt, "a prompt")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Completes:
    """In each shell."""

    left_out = []  # by this shell, which could not insert them as they are

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name
        os.mkdir(self.path("empty"))
        self.write("zklock", STUB.encode())
        os.chmod(self.path("zklock"), 0o755)
        self.environment = {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}", "ANSWERS": self.directory,
                            "REAL": ZKLOCK, "HOME": self.directory, "TERM": "dumb", "LC_ALL": "C.UTF-8", "HISTFILE": ""}
        self.shell = None
        self.addCleanup(self.close_shell)

    def close_shell(self):
        if self.shell is not None:
            self.shell.close()
        self.shell = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def words_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode().split("\0")[:-1]

    def offer(self, resources, nodes=()):
        self.write("resources", "".join(name + "\0" for name in resources).encode())
        self.write("nodes", "".join(name + "\0" for name in nodes).encode())

    def enter(self, line):
        """Types it, and Enter. Returns the arguments of the command that was run."""
        if self.shell is None:
            self.shell = Shell(self.path("empty"), self.arguments(), self.environment)
        self.shell.type(line + "\r")

        def is_called():
            self.shell.read()
            return os.path.exists(self.path("called"))

        try:
            wait_until(is_called, line, 10)
            called = self.words_of("called")
            os.remove(self.path("called"))
            self.shell.wait_for_prompt()
        except AssertionError:
            called = self.shell.seen[-400:]
            self.close_shell()
        self.assertEqual(os.listdir(self.path("empty")), [], f"something else was run by {line!r}")
        return called

    def test_any_name_as_it_is(self):
        for name in HOSTILE + CONTROL + TILDES:
            with self.subTest(name):
                self.offer([name] if name not in self.left_out else [name, name := "x"])
                self.assertEqual(self.enter("zklock status \t"), ["status", name])

    def test_any_node_as_it_is(self):
        for name in [f"$({RUNS})", "a b-lock-0000000001", "-x-lock-0000000001", "it's!", "a:b"]:
            with self.subTest(name):
                self.offer([f"`{RUNS}` it's"], [name])
                self.assertEqual(self.enter("zklock break \t\t"), ["break", f"`{RUNS}` it's", name])
                self.assertEqual(self.words_of("asked")[-2:], ["--", f"`{RUNS}` it's"])

    def test_no_name_that_would_be_an_option(self):
        for name in LIKE_OPTIONS:
            with self.subTest(name):
                self.offer([name, "x"])
                self.assertEqual(self.enter("zklock status \t"), ["status", "x"])
                self.offer([name])
                self.assertEqual(self.enter("zklock status -- \t"), ["status", "--", name])

    def test_what_was_begun(self):
        names = ["a b c", "ab", "x:y z", "x:z", "it's", "p=q r", "p=s"]
        begun = {"a\\ ": "a b c", "'a ": "a b c", '"a ': "a b c", "a\\ b": "a b c", "x:y": "x:y z", "x:y\\ ": "x:y z", "i": "it's",
                 "it\\'": "it's", '"it\'': "it's", "p=q": "p=q r", "ab": "ab"}
        self.offer(names)
        for text, name in begun.items():
            with self.subTest(text):
                self.assertEqual(self.enter(f"zklock status {text}\t"), ["status", name])

    def test_with_the_settings_that_were_typed(self):
        self.offer(["a b"], ["n-lock-1"])
        self.assertEqual(self.enter("zklock break --hosts 'h 1' --lock-root=/r --yes \t\t"),
                         ["break", "--hosts", "h 1", "--lock-root=/r", "--yes", "a b", "n-lock-1"])
        self.assertEqual(self.words_of("asked"), ["status", "-0", "--hosts", "h 1", "--lock-root=/r", "--log", "none", "--", "a b"])

    def test_subcommands_options_and_commands(self):
        self.offer(["a b"])
        self.assertEqual(self.enter("zklock sta\tx"), ["status", "x"])
        self.assertEqual(self.enter("zklock help dead\t"), ["help", "deadlocks"])
        self.assertEqual(self.enter("zklock help sett\tx"), ["help", "settings", "x"])
        self.assertEqual(self.enter("zklock run --max\t5 -w 1 --also \t\tunshar\tx"),
                         ["run", "--max-hold", "5", "-w", "1", "--also", "a b", "a b", "unshare", "x"])
        self.assertEqual(self.enter("zklock run \t--nonbl\t -- unshar\t-x"),
                         ["run", "a b", "--nonblock", "--", "unshare", "-x"])


class CompletesInBash(Completes, unittest.TestCase):
    def arguments(self):
        self.write("rc", f"source {COMPLETIONS}/zklock.bash\nbind 'set bell-style none'\n".encode())
        return ["bash", "--noprofile", "--rcfile", self.path("rc"), "-i"]


class CompletesInZsh(Completes, unittest.TestCase):
    def arguments(self):
        self.write(".zshrc", f"fpath=({COMPLETIONS} $fpath)\nautoload -Uz compinit && compinit -u -D\n".encode())
        self.environment["ZDOTDIR"] = self.directory
        return ["zsh", "-i"]


class CompletesInFish(Completes, unittest.TestCase):
    left_out = CONTROL + TILDES
    features = []

    def arguments(self):
        return ["fish", "--no-config", *self.features, "-i", "-C", f"source {COMPLETIONS}/zklock.fish"]


class CompletesInFishAsOfVersion4(CompletesInFish):
    """There a ? matches only itself."""

    features = ["--features", "qmark-noglob"]


if __name__ == "__main__":
    unittest.main()
