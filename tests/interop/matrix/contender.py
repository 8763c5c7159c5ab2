"""A contender: a program that speaks the lines of contenders/protocol.md."""
import itertools
import queue
import subprocess
import tempfile
import threading

PATIENCE_S = 30
numbers = itertools.count(1)


class Unexpected(Exception):
    """What a step did not find as it must be."""


class Answer:
    def __init__(self, line):
        self.word, self.status, self.text = (line.rstrip("\n") + "  ").split(" ", 2)
        self.text = self.text.strip()

    def __str__(self):
        return f"{self.status} {self.text}".strip()


class Contender:
    """`side` says whose it is, for reports."""

    def __init__(self, side, command, looks):
        self.looks = looks  # it shares, and does not write
        self.name = f"{side}-{next(numbers)}"
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*command, self.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=self.errors)
        self.answers = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()
        self.session_id, self.session_timeout_ms = None, None

    def read(self):
        for line in self.process.stdout:
            answer = Answer(line)
            self.queue_of(answer.word).put(answer)

    def queue_of(self, word):
        with self.lock:
            return self.answers.setdefault(word, queue.Queue())

    def await_start(self):
        answer = self.answer("start")
        if answer.status != "ok":
            raise Unexpected(f"{self.name} did not start: {answer} {self.complaint()}")
        self.session_id, self.session_timeout_ms = map(int, answer.text.split())

    def complaint(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    # ---- Commands ----

    def tell(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Unexpected(f"{self.name} has ended {self.complaint()}") from None

    def answer(self, word, within_s=PATIENCE_S):
        try:
            return self.queue_of(word).get(timeout=within_s)
        except queue.Empty:
            raise Unexpected(f"{self.name} did not answer {word} within {within_s} s {self.complaint()}") from None

    def has_answered(self, word):
        return not self.queue_of(word).empty()

    def is_granted(self):
        """Whether that is its answer, which is still to be read."""
        answers = list(self.queue_of("acquire").queue)
        return bool(answers) and answers[0].status == "ok"

    def ask(self, command, within_s=PATIENCE_S):
        self.tell(command)
        return self.answer(command.split()[0], within_s)

    def acquire(self, within_s=PATIENCE_S):
        """Waits for the grant; returns the path of its node."""
        self.begin_acquire()
        return self.granted(within_s)

    def begin_acquire(self, timeout_ms=-1):
        self.tell(f"acquire {timeout_ms}")

    def granted(self, within_s=PATIENCE_S):
        answer = self.answer("acquire", within_s)
        if answer.status != "ok":
            raise Unexpected(f"{self.name} was not granted: {answer}")
        return answer.text

    def release(self):
        answer = self.ask("release")
        if answer.status != "ok":
            raise Unexpected(f"{self.name} did not release: {answer}")

    # ---- End ----

    def is_dead(self):
        return self.process.poll() is not None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """In the library's own way, for a while."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        self.errors.close()
