"""Groups of processes whose memory the kernel limits: cgroups, of either version."""
import glob
import os
import re

TOP = "/sys/fs/cgroup"


class Memory:
    def __init__(self, name):
        """`name`: that of the run's groups, by which tests/chaos/run finds what was left."""
        self.is_old = os.path.isdir(f"{TOP}/memory")
        self.top = f"{TOP}/memory" if self.is_old else TOP
        self.name = name
        self.count = 0

    @staticmethod
    def put(path, value):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))

    def group(self, limit):
        self.count += 1
        path = f"{self.top}/{self.name}-{self.count}"
        os.mkdir(path)
        self.put(f"{path}/{'memory.limit_in_bytes' if self.is_old else 'memory.max'}", limit)
        return path

    def move(self, path, pid):
        self.put(f"{path}/cgroup.procs", pid)

    def kills(self, path):
        """How many of its processes the kernel has ended."""
        with open(f"{path}/{'memory.oom_control' if self.is_old else 'memory.events'}", encoding="ascii") as file:
            return int(re.search(r"^oom_kill (\d+)", file.read(), re.M).group(1))

    @staticmethod
    def remove(path):
        try:
            os.rmdir(path)
        except OSError:
            return False
        return True

    def end(self):
        for path in glob.glob(f"{self.top}/{self.name}-*"):
            self.remove(path)
