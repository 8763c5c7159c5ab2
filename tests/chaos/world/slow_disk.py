"""A disk on which it takes long to open a file: the kernel asks before it lets anybody (fanotify), and is made to wait.

A tracer that holds up fsync, as ensemble/slow-disk does for servers, stops a process at each of its calls: that would hold up
its locks as well.
"""
import ctypes
import os
import select
import struct
import threading

# <linux/fanotify.h>
CLASS_CONTENT, CLOEXEC = 0x4, 0x1
MARK_ADD, MARK_MOUNT = 0x1, 0x10
OPEN_PERM = 0x10000
ALLOW = 0x1
EVENT = struct.Struct("=IBBHQii")  # struct fanotify_event_metadata: its length first, the file's descriptor before the process
ANSWER = struct.Struct("=iI")
AT_FDCWD = -100
READ_AT_ONCE = 4096
LOOK_EVERY_S = 0.05

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    returned = LIBC[name](*arguments)
    if returned < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return returned


class SlowDisk:
    """From its making on, until `end`."""

    def __init__(self, path, seconds):
        self.seconds = seconds
        self.is_over = threading.Event()
        self.file = call("fanotify_init", CLASS_CONTENT | CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        call("fanotify_mark", self.file, MARK_ADD | MARK_MOUNT, ctypes.c_uint64(OPEN_PERM), AT_FDCWD, path.encode())
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over.is_set():
            if select.select([self.file], [], [], LOOK_EVERY_S)[0]:
                self.answer(os.read(self.file, READ_AT_ONCE))

    def answer(self, events):
        while events:
            length, *_, opened, _ = EVENT.unpack_from(events)
            self.is_over.wait(self.seconds)
            os.write(self.file, ANSWER.pack(opened, ALLOW))
            os.close(opened)
            events = events[length:]

    def end(self):
        self.is_over.set()
        self.thread.join()
        os.close(self.file)
