"""The records that clients have written to their disks: each must play back as the recipe does it (tests/simulation)."""
import glob
import os
import subprocess

PROGRAM = "tests/simulation/replay"  # below the build
LAST_LINES = 2  # of what it prints, which say what differs


def played(directory, build):
    """How many records there are, and what is wrong with them, as text."""
    paths, wrong = sorted(glob.glob(f"{directory}/*.record")), []
    for path in paths:
        asked = subprocess.run([f"{build}/{PROGRAM}", path], capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            said = " ".join((asked.stderr or asked.stdout).splitlines()[-LAST_LINES:])
            wrong.append(f"{os.path.basename(path)} does not play back: {said}")
    return len(paths), wrong
