#!/usr/bin/env python3
"""tools/check-abi: which changes of the library break programs, and which do not. tools/lint runs it."""
import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def load_check():
    path = os.path.join(ROOT, "tools/check-abi")
    loader = importlib.machinery.SourceFileLoader("check_abi", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_abi", loader))
    loader.exec_module(module)
    return module


check_abi = load_check()
LAST_FIELD_OF_GRANT = r"""(?s)size-in-bits='9536'( .*?)\s*<data-member access='public' layout-offset-in-bits='9472'>
\s*<var-decl name='local_number'[^>]*/>\s*</data-member>"""
LAST_FIELD_OF_QUEUE = r"""(?s)(<class-decl name='zkl_queue' size-in-bits=)'128'( .*?)\s*""" \
    r"""<data-member access='public' layout-offset-in-bits='64'>.*?</data-member>"""


class OfDumps(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)
        self.dump = check_abi.read(check_abi.DUMP)

    def edited(self, pattern, replacement):
        text, count = re.subn(pattern, replacement, self.dump)
        self.assertGreater(count, 0, f"nothing in the dump is {pattern}")
        return text

    def without_function(self):
        text = self.edited(r"\s*<elf-symbol name='zkl_lock_verify' [^>]*/>", "")
        return re.sub(r"(?s)\s*<function-decl name='zkl_lock_verify' .*?</function-decl>", "", text)


class BinaryInterface(OfDumps):
    def said(self, old, new):
        with tempfile.TemporaryDirectory() as place:
            paths = [os.path.join(place, name) for name in ("old.abi", "new.abi")]
            for path, text in zip(paths, (old, new)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return check_abi.differences(*paths)

    def test_the_same_library_breaks_nothing(self):
        self.assertEqual(self.said(self.dump, self.dump), "")

    def test_a_function_that_is_gone_is_told(self):
        self.assertIn("zkl_lock_verify", self.said(self.dump, self.without_function()))

    def test_a_function_that_has_come_breaks_nothing(self):
        self.assertEqual(self.said(self.without_function(), self.dump), "")

    def test_a_function_of_another_version_is_told(self):
        moved = self.edited(r"(name='zkl_lock_verify' version=)'ZKLOCK_([\d.]+)'", r"\1'ZKLOCK_\g<2>9'")
        self.assertIn("zkl_lock_verify", self.said(self.dump, moved))

    def test_a_parameter_of_another_type_is_told(self):
        changed = self.edited(r"(?s)(<function-decl name='zkl_lock_acquire' .*?<parameter type-id=)'[0-9a-f]+'(.*?"
                              r"<parameter type-id=)'([0-9a-f]+)'", r"\1'\3'\2'\3'")
        self.assertIn("zkl_lock_acquire", self.said(self.dump, changed))

    def test_a_field_at_the_end_of_a_struct_with_struct_size_breaks_nothing(self):
        earlier = self.edited(LAST_FIELD_OF_GRANT, r"size-in-bits='9472'\1")
        self.assertEqual(self.said(earlier, self.dump), "")

    def test_a_field_that_is_gone_is_told(self):
        earlier = self.edited(LAST_FIELD_OF_GRANT, r"size-in-bits='9472'\1")
        self.assertIn("zkl_grant", self.said(self.dump, earlier))

    def test_a_field_of_another_type_is_told(self):
        changed = self.edited(r"(<var-decl name='token' type-id=)'[0-9a-f]+'", r"\1'4bd50995'")
        self.assertIn("token", self.said(self.dump, changed))

    def test_fields_that_have_changed_places_are_told(self):
        changed = self.edited("name='waited_ms'", "name='kept'")
        changed = changed.replace("name='local_number'", "name='waited_ms'").replace("'kept'", "'local_number'")
        self.assertIn("local_number", self.said(self.dump, changed))

    def test_a_field_of_another_name_is_told(self):
        renamed = self.edited("name='failed_operation'", "name='failed_step'")
        self.assertIn("failed_step", self.said(self.dump, renamed))

    def test_a_struct_that_is_smaller_with_the_same_fields_is_told(self):
        packed = self.edited("(name='zkl_transaction_result' size-in-bits=)'128'", r"\1'120'")
        self.assertIn("zkl_transaction_result", self.said(self.dump, packed))

    def test_a_program_that_fails_is_told(self):
        failed = mock.Mock(returncode=check_abi.ABIDIFF_ERROR, stdout="out of memory")
        with mock.patch.object(check_abi, "run", return_value=failed):
            self.assertRaisesRegex(SystemExit, "abidiff: out of memory", self.said, self.dump, self.dump)
            self.assertRaisesRegex(SystemExit, "abidw: out of memory", check_abi.dump, "libzklock.so", "new.abi")

    def test_an_enumerator_that_has_come_breaks_nothing(self):
        earlier = self.edited(r"\s*<enumerator name='ZKL_AS_OPENED'[^>]*/>", "")
        self.assertEqual(self.said(earlier, self.dump), "")

    def test_an_enumerator_of_another_number_is_told(self):
        changed = self.edited(r"(name='ZKL_AS_OPENED' value=)'\d+'", r"\1'17'")
        self.assertIn("ZKL_AS_OPENED", self.said(self.dump, changed))

    def test_a_field_at_the_end_of_a_struct_without_struct_size_is_told(self):
        earlier = self.edited(LAST_FIELD_OF_QUEUE, r"\1'64'\2")
        self.assertIn("zkl_queue", self.said(earlier, self.dump))


class Exports(OfDumps):
    """What the library, the map, the headers and Debian's symbols name must be the same."""

    def exports(self, dump):
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as file:
            file.write(dump)
            file.flush()
            return "\n".join(check_abi.check_exports("libzklock.so", file.name))

    def names(self, constant, text):
        with tempfile.NamedTemporaryFile("w") as file, mock.patch.object(check_abi, constant, file.name):
            file.write(text)
            file.flush()
            return "\n".join(check_abi.check_names())

    def test_what_is_exported_is_what_the_map_names(self):
        self.assertEqual(self.exports(self.dump), "")

    def test_a_symbol_that_nobody_declares_is_told(self):
        symbol = re.search(r"<elf-symbol name='zkl_version' .*?/>", self.dump)[0]
        for leaked in (symbol.replace("zkl_version", "zkl_session_open"), symbol.replace("zkl_version", "counter"),
                       re.sub(" version='.*?' is-default-version='yes'", "", symbol).replace("zkl_version", "bare")):
            name = re.search("name='(.*?)'", leaked)[1]
            told = self.exports(self.dump.replace(symbol, symbol + leaked))
            self.assertRegex(told, rf"{name} has .*, and nothing in")

    def test_a_symbol_that_is_gone_or_of_another_version_is_told(self):
        symbol = re.search(r"<elf-symbol name='zkl_version' .*?/>", self.dump)[0]
        bare = re.sub(" version='.*?' is-default-version='yes'", "", symbol)
        for other, version in ("", "nothing"), (bare, "no version"):
            self.assertIn(f"zkl_version has {version}, and ZKLOCK_", self.exports(self.dump.replace(symbol, other)))

    def test_a_library_without_debug_information_is_told(self):
        bare = self.edited(r"(?s)<function-decl name='zkl_version'.*?</function-decl>", "")
        self.assertIn("zkl_version has no debug information", self.exports(bare))

    def test_a_name_of_the_map_that_no_header_has_is_told(self):
        text = check_abi.read(check_abi.MAP)
        for more in "zkl_session_*;", "counter;", "zkl_version; leaked;":
            told = self.names("MAP", text.replace("    zkl_version;", f"    zkl_version;\n    {more}"))
            self.assertIn(f"{more.split()[-1][:-1]} is here, and declared nowhere", told)
        for less in "", "    # zkl_version;\n":
            self.assertIn("zkl_version is declared", self.names("MAP", text.replace("    zkl_version;\n", less)))

    def test_a_name_of_another_version_in_the_package_is_told(self):
        path = glob.glob(check_abi.SYMBOLS)[0]
        told = self.names("SYMBOLS", re.sub(r"(zkl_version@\S+)", r"\g<1>9", check_abi.read(path)))
        self.assertRegex(told, r"zkl_version is of ZKLOCK_\S+9 here, and of ZKLOCK_")

    def test_a_version_of_the_package_that_the_node_does_not_have_is_told(self):
        path = glob.glob(check_abi.SYMBOLS)[0]
        told = self.names("SYMBOLS", re.sub(r"(zkl_version@ZKLOCK_(\S+)) .*", r"\1 \g<2>9.0", check_abi.read(path)))
        self.assertRegex(told, r"zkl_version is of ZKLOCK_\S+, and cannot have come with \S+9\.0")

    def test_a_function_that_is_deprecated_is_found(self):
        for attribute in "", '__attribute__((deprecated("use zkl_x()"))) ':
            self.assertEqual(check_abi.DECLARED.findall(f"ZKL_API {attribute}const char *zkl_old(int (*call)(void));"),
                             ["zkl_old"])


class Constants(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)

    def told(self, old, new):
        return "".join(check_abi.changed_constants(old, new))

    def of_header(self, text):
        """The constants of a header that has this."""
        with tempfile.NamedTemporaryFile("w", suffix=".h") as file, \
                mock.patch.object(check_abi, "public_paths", lambda: [file.name]):
            file.write(text)
            file.flush()
            return check_abi.constants()

    def test_a_constant_that_is_not_read_is_told(self):
        self.assertEqual(self.of_header("#define ZKL_A (-3)\n#define ZKL_B ZKL_A\nenum { ZKL_C = ZKL_B, ZKL_D };\n"),
                         {"ZKL_A": "-3", "ZKL_B": "-3", "ZKL_C": "-3", "ZKL_D": "-2"})
        for text in ("#define ZKL_A (1 << 3)", "#define ZKL_A 3u", "#define ZKL_A ZKL_B",
                     "enum { ZKL_A = 1 << 3, ZKL_B };"):
            self.assertRaisesRegex(SystemExit, "ZKL_A is '.*', and not a decimal number", self.of_header, f"{text}\n")

    def test_macros_and_enumerators_are_found(self):
        found = check_abi.constants()
        for name, value in (("ZKL_FOREVER", "-1"), ("ZKL_STRIPES_MAX", "64"), ("ZKL_TIMEOUT", "-2"), ("ZKL_WRITE", "2"),
                            ("ZKL_LOG_SESSION_EXPIRED", "2"), ("ZKL_ACL_OPEN", '"world:anyone:cdrwa"')):
            self.assertEqual(found[name], value)
        self.assertFalse({"ZKL_VERSION_MINOR", "ZKL_LOG_EVENT_ENUM", "ZKL_API"} & set(found))

    def test_they_are_the_ones_that_are_kept(self):
        self.assertEqual(self.told(check_abi.kept_constants(), check_abi.constants()), "")

    def test_one_that_is_gone_or_differs_is_told(self):
        kept = {"ZKL_FOREVER": "-1", "ZKL_ACL_OPEN": '"a"'}
        self.assertIn("ZKL_FOREVER is -2", self.told(kept, {**kept, "ZKL_FOREVER": "-2"}))
        self.assertIn("ZKL_ACL_OPEN is \"b\"", self.told(kept, {**kept, "ZKL_ACL_OPEN": '"b"'}))
        self.assertIn("ZKL_FOREVER is gone", self.told(kept, {"ZKL_ACL_OPEN": '"a"'}))
        self.assertEqual(self.told(kept, {**kept, "ZKL_NEW": "1"}), "")

    def test_a_limit_may_only_give_way(self):
        kept = {"ZKL_ROOT_MAX": "256", "ZKL_SESSION_TIMEOUT_MIN_MS": "100"}
        self.assertEqual(self.told(kept, {"ZKL_ROOT_MAX": "512", "ZKL_SESSION_TIMEOUT_MIN_MS": "50"}), "")
        self.assertIn("ZKL_ROOT_MAX is 255", self.told(kept, {**kept, "ZKL_ROOT_MAX": "255"}))
        self.assertIn("ZKL_SESSION_TIMEOUT_MIN_MS is 101",
                      self.told(kept, {**kept, "ZKL_SESSION_TIMEOUT_MIN_MS": "101"}))


class Released(OfDumps):
    """What may come once a version with this soname is in the CHANGELOG."""

    def compared(self, old, is_released, new=None, kept=None, write=False):
        """What is said of the library of the repository's dump, if the dump old was kept; and what is kept then."""
        with tempfile.TemporaryDirectory() as place:
            paths = {name: os.path.join(place, name) for name in ("DUMP", "CONSTANTS", "new")}
            constants = kept if kept is not None else check_abi.constants()
            texts = {"DUMP": old, "new": new or self.dump,
                     "CONSTANTS": "".join(f"{name} {value}\n" for name, value in constants.items())}
            for name, text in texts.items():
                with open(paths[name], "w", encoding="utf-8") as file:
                    file.write(text)
            with mock.patch.multiple(check_abi, DUMP=paths["DUMP"], CONSTANTS=paths["CONSTANTS"],
                                     is_released=lambda _: is_released):
                said = (check_abi.write if write else check_abi.compare)(paths["new"])
                self.kept = check_abi.kept_constants()
            return said, check_abi.read(paths["DUMP"])

    def test_before_a_release_all_may_be_written(self):
        said, _ = self.compared(self.dump, False, new=self.without_function())
        self.assertIn("is not released: if it is meant", said)
        self.assertEqual(self.compared(self.dump, False, new=self.without_function(), write=True)[0], "")

    def test_after_a_release_nothing_goes(self):
        said, _ = self.compared(self.dump, True, new=self.without_function())
        self.assertIn("is released: a version with another soname", said)
        self.assertEqual(self.compared(self.dump, True, new=self.without_function(), write=True),
                         (said.replace("a version with another soname may have this: tools/release --begin",
                                       "nothing is written"), self.dump))

    def test_constants_are_compared_and_written_with_the_library(self):
        earlier = {**check_abi.constants(), "ZKL_FOREVER": "-9"}
        for is_released in True, False:
            self.assertIn("ZKL_FOREVER is -1, and was -9", self.compared(self.dump, is_released, kept=earlier)[0])
        self.assertIn("ZKL_FOREVER", self.compared(self.dump, True, kept=earlier, write=True)[0])
        self.assertEqual(self.kept, earlier)
        self.assertEqual(self.compared(self.dump, False, kept=earlier, write=True)[0], "")
        self.assertEqual(self.kept, check_abi.constants())

    @staticmethod
    def of_soname(name, dump):
        return re.sub(r"soname='libzklock\.so\.[\d.]+'", f"soname='libzklock.so.{name}'", dump)

    def test_before_1_0_nothing_comes_after_a_release(self):
        before, today = (self.of_soname("0.7", dump) for dump in (self.without_function(), self.dump))
        self.assertIn("zkl_lock_verify", self.compared(before, True, new=today)[0])
        self.assertEqual(self.compared(before, False, new=today)[0], "")
        self.assertIn("ZKL_OK has come", self.compared(today, True, new=today, kept={"ZKL_BUSY": "-1"})[0])

    def test_from_1_0_it_does(self):
        before, today = (self.of_soname("1", dump) for dump in (self.without_function(), self.dump))
        self.assertEqual(self.compared(before, True, new=today)[0], "")
        self.assertEqual(self.compared(before, True, new=today, write=True), ("", today))

    def test_a_dump_of_another_soname_is_told_and_written_anew(self):
        said, _ = self.compared(self.dump, True, new=self.of_soname("99", self.dump))
        self.assertIn("tools/check-abi --write", said)
        self.assertEqual(self.compared(self.dump, True, new=self.of_soname("99", self.dump), write=True)[0], "")

    def test_the_changelog_says_what_is_released(self):
        changelog = "\n## Unreleased\n\n## 10.0.0 - 2028-01-01\n\n## 0.21.1 - 2027-01-01\n"
        with mock.patch.object(check_abi, "read", lambda _: changelog):
            for name in "0.2", "0.21", "0.211", "1", "10", "21":
                self.assertEqual(check_abi.is_released(name), name in ("0.21", "10"))


class Command(OfDumps):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.kept = {name: shutil.copy(getattr(check_abi, name), place.name) for name in ("DUMP", "CONSTANTS")}

    def run_on(self, *arguments, dump=None):
        """The status, and what is said, of a library of which this is the dump; the kept one if there is none."""
        def write_dump(_, path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(dump or self.dump)

        with mock.patch.multiple(check_abi, dump=write_dump, is_released=lambda _: True,
                                 ARCHITECTURE=os.uname().machine, **self.kept), \
                mock.patch.object(sys, "argv", ["tools/check-abi", *arguments]), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            return check_abi.main(), said.getvalue()

    def assert_told(self, words, *arguments, **options):
        status, said = self.run_on(*arguments, **options)
        self.assertEqual(status, 1)
        self.assertIn(words, said)

    def test_the_library_that_is_kept_is_as_it_must_be(self):
        os.chdir(os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(self.run_on(os.path.basename(__file__)), (0, ""))

    def test_what_differs_and_breaks_nothing_is_written(self):
        anew = self.edited(r"\Z", "<!-- anew -->\n")
        self.assertEqual(self.run_on(__file__, dump=anew), (0, ""))
        self.assertEqual(check_abi.read(self.kept["DUMP"]), self.dump)
        self.assertEqual(self.run_on("--write", __file__, dump=anew), (0, ""))
        self.assertEqual(check_abi.read(self.kept["DUMP"]), anew)

    def test_each_difference_fails(self):
        symbol = re.search(r"<elf-symbol name='zkl_version' .*?/>", self.dump)[0]
        for option in [], ["--write"]:
            self.assert_told("no_such.so is not there", *option, "no_such.so")
            self.assert_told("leaked has ZKLOCK_", *option, __file__,
                             dump=self.dump.replace(symbol, symbol + symbol.replace("zkl_version", "leaked")))
            self.assert_told("failed_step", *option, __file__,
                             dump=self.edited("name='failed_operation'", "name='failed_step'"))
            with mock.patch.object(check_abi, "check_names", lambda: ["a name"]):
                self.assert_told("a name", *option, __file__)
        self.assertEqual(check_abi.read(self.kept["DUMP"]), self.dump)

    def test_a_wrong_command_line_has_a_status_of_its_own(self):
        for arguments in ["--writes"], ["--write", "--write"], [__file__, __file__]:
            status, said = self.run_on(*arguments)
            self.assertEqual((status, said), (2, check_abi.USAGE))


if __name__ == "__main__":
    unittest.main()
