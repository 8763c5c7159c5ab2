"""What goes from memory to the disk while a run goes on, so that one that is killed can be judged (../history.md)."""
import os
import shutil

CURRENT = "version-2"
OLDER = "version-2-older"
SNAPSHOTS_KEPT = 3  # as ZooKeeper's own purge does by default


def number_of(name):
    """The zxid that a log begins with, or a snapshot has."""
    return int(name.partition(".")[2], 16)


def not_needed(names):
    """The snapshots, and the logs, of a server's data that are older than its last snapshots, and than the log that the
    first of these may need."""
    snapshots = sorted((name for name in names if name.startswith("snapshot.")), key=number_of)
    logs = sorted((name for name in names if name.startswith("log.")), key=number_of)
    if len(snapshots) < SNAPSHOTS_KEPT:
        return [], []
    oldest = number_of(snapshots[-SNAPSHOTS_KEPT])
    begun_before = [name for name in logs if number_of(name) <= oldest]
    return snapshots[:-SNAPSHOTS_KEPT], begun_before[:-1]


def move_all(source, sink):
    """All files below a directory, to the same places below another."""
    for place, _, names in os.walk(source):
        for name in names:
            move(place, name, os.path.join(sink, os.path.relpath(place, source)))


def move(place, name, sink):
    os.makedirs(sink, exist_ok=True)
    shutil.move(os.path.join(place, name), os.path.join(sink, name))


def until(restores):
    """The directory of what a server has until a backup is restored once more."""
    return f"until-restore-{restores + 1}"


def keep(path, sink, size=None):
    """Adds to a copy what has come to a file that only grows, up to that size. (Behind what a server has logged are zeros.)"""
    os.makedirs(os.path.dirname(sink), exist_ok=True)
    with open(path, "rb") as file, open(sink, "ab") as copy:
        file.seek(copy.tell())
        copy.write(file.read(-1 if size is None else size - copy.tell()).rstrip(b"\0"))


def make_room(data, disk, restores, is_over=False):
    """`data` is in memory, and in use until it is over. All that was logged is on the disk then, and each snapshot that is
    not in `data`."""
    kept = os.path.join(disk, until(restores))
    for name in os.listdir(data):
        if name.startswith((f"{CURRENT}-", "until-restore-")):  # put aside
            move_all(os.path.join(data, name), os.path.join(kept if name.startswith(CURRENT) else disk, name))
            shutil.rmtree(os.path.join(data, name))
    current = os.path.join(data, CURRENT)
    names = os.listdir(current) if os.path.isdir(current) else []
    logs = [name for name in names if name.startswith("log.")]
    old_snapshots, old_logs = not_needed(names)
    for name in logs:
        keep(os.path.join(current, name), os.path.join(kept, OLDER, name))
    for name in logs if is_over else old_logs:
        os.unlink(os.path.join(current, name))
    for name in old_snapshots:
        move(current, name, os.path.join(kept, OLDER))
