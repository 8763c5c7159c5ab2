#!/usr/bin/env python3
"""tools/release, in copies of what it writes. tools/lint runs it."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
WRITTEN = ["CHANGELOG.md", "debian", "docs/command.md", "docs/troubleshooting.md", "docs/zookeeper.md",
           "include/zklock/base.h", "lib/zklock.map", "tools/release"]


class Release(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        for path in WRITTEN:
            source, target = os.path.join(ROOT, path), os.path.join(self.place.name, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)

    def release(self, *arguments):
        return subprocess.run([os.path.join(self.place.name, "tools/release"), *arguments], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def read(self, path):
        with open(os.path.join(self.place.name, path), encoding="utf-8") as file:
            return file.read()

    def edit(self, path, old, new):
        text = self.read(path)
        self.assertIn(old, text)
        with open(os.path.join(self.place.name, path), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def test_a_patch_is_written_everywhere_and_keeps_the_soname(self):
        self.assertEqual(self.release("0.1.7").returncode, 0)
        self.assertEqual(self.release("--check").returncode, 0)
        self.assertRegex(self.read("CHANGELOG.md"), r"## Unreleased\n\n## 0\.1\.7 - 20\d\d-\d\d-\d\d\n")
        self.assertRegex(self.read("debian/changelog"), r"(?s)\Azklock \(0\.1\.7-1\).*\n\nzklock \(0\.1\.0-1\)")
        self.assertIn("ZKLOCK_0.1 {", self.read("lib/zklock.map"))

    def test_the_version_that_is_begun_is_released_once(self):
        self.assertEqual(self.release("0.1.0").returncode, 0)
        self.assertEqual(self.read("debian/changelog").count("zklock (0.1.0-1)"), 1)
        self.assertEqual(self.release("0.1.0").returncode, 1)

    def test_a_minor_version_gets_a_soname_of_its_own(self):
        self.assertEqual(self.release("0.2.0").returncode, 0)
        self.assertEqual(self.release("--check").returncode, 0)
        self.assertIn("ZKLOCK_0.2 {", self.read("lib/zklock.map"))
        symbols = self.read("debian/libzklock0.2.symbols")
        self.assertIn("libzklock.so.0.2 libzklock0.2 #MINVER#\n", symbols)
        self.assertIn("\n zkl_version@ZKLOCK_0.2 0.2.0\n", symbols)
        for path in ("debian/control", "lib/zklock.map", "debian/libzklock0.2.symbols"):
            self.assertNotRegex(self.read(path), r"0\.1\b")

    def test_an_earlier_version_is_refused(self):
        self.assertEqual(self.release("0.0.9").returncode, 1)
        self.assertEqual(self.release("--check").returncode, 0)

    def test_a_place_that_says_another_version_is_told(self):
        for path, old, new in [("docs/command.md", "zklock 0.1.0;", "zklock 0.1.1;"),
                               ("debian/changelog", "zklock (0.1.0-1)", "zklock (0.1.1-1)"),
                               ("lib/zklock.map", "ZKLOCK_0.1 {", "ZKLOCK_0.3 {"),
                               ("debian/control", "Package: libzklock0.1", "Package: libzklock0.3")]:
            self.edit(path, old, new)
            done = self.release("--check")
            self.assertEqual((done.returncode, path in done.stdout), (1, True), path)
            self.edit(path, new, old)
        self.assertEqual(self.release("--check").returncode, 0)


if __name__ == "__main__":
    unittest.main()
