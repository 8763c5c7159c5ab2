#!/usr/bin/env python3
"""tools/release, in copies of what it writes. tools/lint runs it."""
import datetime
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
WRITTEN = ["debian", "docs/command.md", "docs/installing.md", "docs/troubleshooting.md", "docs/zookeeper.md",
           "examples/trace/zklock.bt", "include/zklock/base.h", "lib/zklock.map", "tools/release"]
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- News.\n\n## {} - 2026-01-01\n\n- What was news.\n"
# What is in an archive, as little as can be built. The command says the version that the header has.
PROJECT = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(zklock LANGUAGES NONE)
file(READ include/zklock/base.h header)
string(REGEX MATCHALL "ZKL_VERSION_[A-Z]+ [0-9]+" numbers "${header}")
list(TRANSFORM numbers REPLACE ".* " "")
list(JOIN numbers . version)
file(WRITE ${CMAKE_BINARY_DIR}/command/zklock "#!/bin/sh\\necho zklock ${version}\\n")
file(CHMOD ${CMAKE_BINARY_DIR}/command/zklock FILE_PERMISSIONS OWNER_READ OWNER_EXECUTE)
""",
    "CMakePresets.json": """{"version": 3, "configurePresets": [
    {"name": "library", "generator": "Ninja", "binaryDir": "${sourceDir}/build/library"}]}
""",
    ".gitignore": "/build/\n",
}
SAYS_9 = r'file(WRITE ${CMAKE_BINARY_DIR}/command/zklock "#!/bin/sh\necho zklock 9\n")'
NOBODY = 65534
AUTHOR = ("-c", "user.name=a", "-c", "user.email=b", "-c", "tag.gpgSign=false", "-c", "commit.gpgSign=false")


class Copy(unittest.TestCase):
    """Of what tools/release writes, where the version of the header is released, and has been followed by news."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="it's a place ")
        self.addCleanup(place.cleanup)
        self.place, self.user = os.path.join(place.name, "zklock"), None
        for path in WRITTEN:
            source, target = os.path.join(ROOT, path), os.path.join(self.place, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
        found = re.findall(r"#define ZKL_VERSION_\w+ (\d+)", self.read("include/zklock/base.h"))
        self.numbers = tuple(map(int, found))
        self.version, self.soname = ".".join(found), found[0] if found[0] != "0" else f"0.{found[1]}"
        self.write("CHANGELOG.md", CHANGELOG.format(self.version))

    def followed_by(self, *steps):
        """The version, with so much more in each number, and nothing behind the last that is given."""
        raised = [number + step for number, step in zip(self.numbers, steps)]
        return ".".join(map(str, (raised + [0, 0])[:3]))

    def release(self, *arguments):
        return subprocess.run([os.path.join(self.place, "tools/release"), *arguments], check=False, text=True,
                              user=self.user, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def read(self, path):
        with open(os.path.join(self.place, path), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        with open(os.path.join(self.place, path), "w", encoding="utf-8") as file:
            file.write(text)

    def edit(self, path, old, new):
        self.assertIn(old, self.read(path))
        self.write(path, self.read(path).replace(old, new))

    def everything(self):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.place) for name in names]
        return {path: pathlib.Path(path).read_bytes() for path in paths if "/.git/" not in path}

    def does(self, *arguments):
        done = self.release(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def refuses(self, words, *arguments, status=1):
        """Says so, in a line or two, and changes nothing."""
        before = self.everything()
        done = self.release(*arguments)
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertIn(words, done.stdout)
        self.assertNotIn("Traceback", done.stdout)
        self.assertEqual(self.everything(), before)


class Release(Copy):
    def test_a_patch_is_written_everywhere_and_keeps_the_soname(self):
        patch = self.followed_by(0, 0, 1)
        before = self.read("debian/changelog")
        self.does(patch)
        self.does("--check")
        today = datetime.datetime.now(datetime.timezone.utc)
        self.assertIn(f"## Unreleased\n\n## {patch} - {today:%Y-%m-}", self.read("CHANGELOG.md"))
        self.assertRegex(self.read("debian/changelog"), rf"\Azklock \({re.escape(patch)}-1\) unstable; urgency=medium\n")
        self.assertTrue(self.read("debian/changelog").endswith(f"\n\n{before}"))
        for page in "command", "troubleshooting", "zookeeper":
            self.assertIn(f"zklock {patch};", self.read(f"docs/{page}.md"))
        self.assertIn(f"GIT_TAG v{patch})", self.read("docs/installing.md"))
        self.assertIn(f"ZKLOCK_{self.soname} {{", self.read("lib/zklock.map"))

    def check_soname(self, version, soname):
        self.does(version)
        self.does("--check")
        self.assertIn(f"ZKLOCK_{soname} {{", self.read("lib/zklock.map"))
        symbols = self.read(f"debian/libzklock{soname}.symbols")
        self.assertIn(f"libzklock.so.{soname} libzklock{soname} #MINVER#\n", symbols)
        self.assertIn(f"\n zkl_version@ZKLOCK_{soname} {version}\n", symbols)
        self.assertIn(f"find_package(zklock {soname} ", self.read("docs/installing.md"))
        self.assertIn(f"`libzklock{soname}`", self.read("docs/installing.md"))
        self.assertIn(f"libzklock.so.{soname}:", self.read("examples/trace/zklock.bt"))
        for path in ("debian/control", "lib/zklock.map", f"debian/libzklock{soname}.symbols"):
            self.assertNotRegex(self.read(path), rf"(?:libzklock|ZKLOCK_|so\.){re.escape(self.soname)}(?![\d.]*\d)")

    def test_a_minor_version_before_the_first_major_gets_a_soname_of_its_own(self):
        if self.numbers[0] > 0:
            self.skipTest("1.0 is there")
        minor = self.followed_by(0, 1)
        self.check_soname(minor, minor.rpartition(".")[0])

    def test_a_major_version_gets_a_soname_of_its_own(self):
        self.check_soname(self.followed_by(1), str(self.numbers[0] + 1))

    def test_a_minor_version_of_a_major_keeps_the_soname(self):
        major, minor = self.followed_by(1), self.followed_by(1).replace(".0.", ".1.")
        self.does(major)
        self.edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- News.\n")
        self.does(minor)
        self.does("--check")
        soname = str(self.numbers[0] + 1)
        self.assertIn(f"ZKLOCK_{soname} {{", self.read("lib/zklock.map"))
        self.assertIn(f"\n zkl_version@ZKLOCK_{soname} {major}\n", self.read(f"debian/libzklock{soname}.symbols"))

    def test_a_version_that_is_begun_is_released_once(self):
        minor = self.followed_by(0, 1)
        self.does("--begin", minor)
        self.does("--check")
        self.assertEqual(self.read("CHANGELOG.md"), CHANGELOG.format(self.version))
        self.does(minor)
        self.assertEqual(self.read("debian/changelog").count(f"zklock ({minor}-1)"), 1)
        self.refuses(f"CHANGELOG.md has {minor} already", minor)
        self.refuses(f"CHANGELOG.md has {minor} already", "--begin", minor)

    def test_of_a_version_that_was_begun_and_not_released_nothing_stays(self):
        self.does("--begin", self.followed_by(0, 0, 1))
        self.does(self.followed_by(0, 1))
        self.assertNotIn(f"({self.followed_by(0, 0, 1)}-1)", self.read("debian/changelog"))
        self.assertIn(f"({self.version}-1)", self.read("debian/changelog"))

    def test_a_version_that_does_not_follow_is_refused(self):
        for version in ("0.0.0", self.followed_by(0, 0, 2), self.followed_by(0, 2), self.followed_by(2)):
            self.refuses(f"{version} may not be the next: {self.followed_by(0, 0, 1)}, ", version)
        self.refuses(f"CHANGELOG.md has {self.version} already", self.version)

    def test_a_version_that_is_begun_is_not_passed_over(self):
        begun, major = self.followed_by(0, 1), self.followed_by(1)
        self.does("--begin", begun)
        for version in (self.followed_by(0, 0, 1), self.followed_by(0, 2), f"{begun[:-1]}1"):
            self.refuses(f"{version} may not be the next: {begun}, {major} may", version)
        self.does("--begin", major)

    def test_a_number_of_two_digits_is_the_later_one(self):
        nine, ten = (f"{self.numbers[0] + 1}.{minor}.0" for minor in (9, 10))
        self.write("CHANGELOG.md", CHANGELOG.format(nine) + f"\n## {ten} - 2026-01-01\n")
        self.refuses(f"CHANGELOG.md: has {ten}, and include/zklock/base.h the earlier {self.version}", "--check")

    def test_what_is_no_version_is_refused(self):
        for version in "v0.2.0", "0.2", "0.2.0-rc1", "00.2.0", "0.2.٣", "", "0.2.0\n":
            self.refuses("is no version: three numbers, as 0.2.0", version, status=2)
        self.refuses("usage: ", status=2)
        self.refuses("usage: ", "--release", status=2)
        self.refuses("usage: ", "0.2.0", "0.3.0", status=2)

    def test_a_release_without_news_is_refused(self):
        self.edit("CHANGELOG.md", "- News.\n\n", "")
        self.refuses("says nothing of what", self.followed_by(0, 0, 1))
        self.does("--begin", self.followed_by(0, 0, 1))

    def test_a_changelog_without_its_section_is_refused(self):
        self.edit("CHANGELOG.md", "## Unreleased\n", "## Next\n")
        self.refuses("CHANGELOG.md: its first section must be '## Unreleased'", self.followed_by(0, 0, 1))
        self.write("CHANGELOG.md", "")
        self.refuses("CHANGELOG.md: its first section must be '## Unreleased'", "--check")

    def test_a_place_that_says_another_version_is_told(self):
        other = self.followed_by(0, 1)
        for path, old, new in [("docs/command.md", f"zklock {self.version};", f"zklock {other};"),
                               ("docs/zookeeper.md", f"zklock {self.version};", "zklock;"),
                               ("debian/changelog", f"zklock ({self.version}-1)", f"zklock ({other}-1)"),
                               ("debian/control", f"Package: libzklock{self.soname}", "Package: libzklock9"),
                               ("debian/control", "Maintainer:", "Maintained-By:"),
                               ("lib/zklock.map", f"ZKLOCK_{self.soname} {{", "ZKLOCK_9 {"),
                               ("docs/installing.md", f"find_package(zklock {self.soname} ", "find_package(zklock 9 "),
                               ("docs/installing.md", f"GIT_TAG v{self.version}", f"GIT_TAG v{other}"),
                               ("examples/trace/zklock.bt", f"libzklock.so.{self.soname}:", "libzklock.so.9:"),
                               ("include/zklock/base.h", "ZKL_VERSION_PATCH", "ZKL_VERSION_PITCH"),
                               ("CHANGELOG.md", f"## {self.version} - ", f"## {other} - "),
                               ("docs/installing.md", f"`libzklock{self.soname}`", "`libzklock9`"),
                               ("CHANGELOG.md", " - 2026-01-01", " (2026)"),
                               ("CHANGELOG.md", " - 2026-01-01", " - 2026-01-01, late")]:
            self.edit(path, old, new)
            self.refuses(path, "--check")
            self.refuses(path, self.followed_by(0, 0, 1))
            self.edit(path, new, old)
        for kind in "install", "symbols":
            path = os.path.join(self.place, f"debian/libzklock{self.soname}.{kind}")
            os.rename(path, path + ".away")
            self.refuses(f".{kind}: is not there", "--check")
            os.rename(path + ".away", path)
        self.does("--check")
        os.remove(os.path.join(self.place, "docs/zookeeper.md"))
        self.refuses("docs/zookeeper.md", "--check")

    def give_to_nobody(self):
        """Root may write everything."""
        self.user = NOBODY
        for folder, _, names in os.walk(os.path.dirname(self.place)):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                os.chown(path, NOBODY, NOBODY)

    def test_what_may_not_be_written_is_told_before_anything_is(self):
        if os.geteuid() == 0:
            self.give_to_nobody()
        for name, mode in ("lib/zklock.map", 0o444), ("debian", 0o555):
            path = os.path.join(self.place, name)
            before = os.stat(path).st_mode
            os.chmod(path, mode)
            self.refuses(f"tools/release: {name} may not be written", self.followed_by(0, 1))
            os.chmod(path, before)


class Archive(Copy):
    def setUp(self):
        super().setUp()
        self.edit("CHANGELOG.md", "- News.\n\n", "")
        for path, text in PROJECT.items():
            self.write(path, text)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.place, *AUTHOR, *arguments], check=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "c")

    def archive(self):
        path = os.path.join(self.place, f"build/release/zklock-{self.version}.tar.gz")
        return pathlib.Path(path).read_bytes()

    def test_an_archive_has_its_sum_and_the_same_bytes_with_other_settings(self):
        self.does("--archive")
        first = self.archive()
        self.assertEqual(self.read("build/release/SHA256SUMS"),
                         f"{hashlib.sha256(first).hexdigest()}  zklock-{self.version}.tar.gz\n")
        self.write(".git/gzip-attributes", "*.md export-ignore\n")
        for name, value in (("tar.umask", "0077"), ("core.autocrlf", "true"),
                            ("core.attributesFile", os.path.join(self.place, ".git/gzip-attributes"))):
            self.git("config", name, value)
        os.environ["GZIP"] = "--rsyncable"
        self.addCleanup(os.environ.pop, "GZIP")
        self.does("--archive")
        self.assertEqual(self.archive(), first)

    def test_changes_that_are_not_committed_are_named(self):
        self.write("docs/new.md", "")
        self.refuses("docs/new.md", "--archive")

    def test_attributes_of_the_clone_alone_are_refused(self):
        self.write(".git/info/attributes", "*.md export-ignore\n")
        self.refuses(".git/info/attributes would change", "--archive")

    def test_a_commit_after_the_release_is_refused(self):
        self.edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- News.\n")
        self.commit()
        self.refuses(f"{self.version} must be its last news", "--archive")

    def test_a_version_that_is_begun_is_refused(self):
        self.does("--begin", self.followed_by(0, 0, 1))
        self.commit()
        self.refuses(f"{self.followed_by(0, 0, 1)} must be its last news", "--archive")

    def test_another_commit_than_that_of_the_tag_is_refused(self):
        self.git("tag", "--annotate", f"v{self.version}", "--message", "c")
        self.does("--archive")
        self.write("docs/new.md", "")
        self.commit()
        self.refuses(f"v{self.version} is another commit", "--archive")

    def test_a_mistake_of_the_check_is_told(self):
        self.edit("docs/command.md", f"zklock {self.version};", "zklock 9.9.9;")
        self.commit()
        self.refuses("docs/command.md: says 9.9.9", "--archive")

    def test_what_does_not_build_is_not_written(self):
        for text, words in [("message(FATAL_ERROR no)", "no"), ("add_custom_target(wrong ALL COMMAND false)", "FAILED: "),
                            (SAYS_9, "says 'zklock 9'")]:
            self.write("CMakeLists.txt", f"{PROJECT['CMakeLists.txt']}{text}\n")
            self.commit()
            self.refuses(words, "--archive")

    def test_what_is_no_clone_is_refused(self):
        shutil.rmtree(os.path.join(self.place, ".git"))
        self.refuses("git rev-parse --show-toplevel", "--archive")
        subprocess.run(["git", "init", "--quiet", os.path.dirname(self.place)], check=True)
        self.refuses("is no clone of zklock", "--archive")


if __name__ == "__main__":
    unittest.main()
