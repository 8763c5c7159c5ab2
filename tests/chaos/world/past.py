"""What a server has written and does not read any more: it goes from memory to the disk, where the checker finds it."""
import os
import shutil

CURRENT = "version-2"
OLDER = "version-2-older"
SNAPSHOTS_KEPT = 3  # as ZooKeeper's own purge does by default


def number_of(name):
    """The zxid that a log begins with, or a snapshot has."""
    return int(name.partition(".")[2], 16)


def not_needed(names):
    """Of the files of a server's data those that are older than its last snapshots, and than the log that the first of
    these may need."""
    snapshots = sorted((name for name in names if name.startswith("snapshot.")), key=number_of)
    logs = sorted((name for name in names if name.startswith("log.")), key=number_of)
    if len(snapshots) < SNAPSHOTS_KEPT:
        return []
    oldest = number_of(snapshots[-SNAPSHOTS_KEPT])
    begun_before = [name for name in logs if number_of(name) <= oldest]
    return snapshots[:-SNAPSHOTS_KEPT] + begun_before[:-1]


def move_all(source, sink):
    """All files below a directory, to the same places below another."""
    for place, _, names in os.walk(source):
        for name in names:
            move(place, name, os.path.join(sink, os.path.relpath(place, source)))


def move(place, name, sink):
    os.makedirs(sink, exist_ok=True)
    shutil.move(os.path.join(place, name), os.path.join(sink, name))


def make_room(data, disk):
    """`data` is in memory, and in use."""
    for name in os.listdir(data):
        if name.startswith((f"{CURRENT}-", "until-restore-")):  # put aside
            move_all(os.path.join(data, name), os.path.join(disk, name))
            shutil.rmtree(os.path.join(data, name))
    current = os.path.join(data, CURRENT)
    for name in not_needed(os.listdir(current) if os.path.isdir(current) else ()):
        if name.startswith("log."):
            move(current, name, os.path.join(disk, OLDER))
        else:
            os.unlink(os.path.join(current, name))


def put_aside(disk, name):
    """What was moved so far belongs to what is put aside now."""
    older = os.path.join(disk, OLDER)
    if os.path.isdir(older):
        move_all(older, os.path.join(disk, name, OLDER))
        shutil.rmtree(older)
