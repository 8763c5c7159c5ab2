#!/usr/bin/env python3
"""tools/check-abi: which changes of the library break programs, and which do not. tools/lint runs it."""
import importlib.machinery
import importlib.util
import os
import re
import tempfile
import unittest

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


class BinaryInterface(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)
        self.dump = check_abi.read(check_abi.DUMP)

    def edited(self, pattern, replacement):
        text, count = re.subn(pattern, replacement, self.dump)
        self.assertGreater(count, 0, f"nothing in the dump is {pattern}")
        return text

    def said(self, old, new):
        with tempfile.TemporaryDirectory() as place:
            paths = [os.path.join(place, name) for name in ("old.abi", "new.abi")]
            for path, text in zip(paths, (old, new)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return check_abi.differences(*paths)

    def test_the_same_library_breaks_nothing(self):
        self.assertEqual(self.said(self.dump, self.dump), "")

    def without_function(self):
        text = self.edited(r"\s*<elf-symbol name='zkl_lock_verify' [^>]*/>", "")
        return re.sub(r"(?s)\s*<function-decl name='zkl_lock_verify' .*?</function-decl>", "", text)

    def test_a_function_that_is_gone_is_told(self):
        self.assertIn("zkl_lock_verify", self.said(self.dump, self.without_function()))

    def test_a_function_that_has_come_breaks_nothing(self):
        self.assertEqual(self.said(self.without_function(), self.dump), "")

    def test_a_function_of_another_version_is_told(self):
        moved = self.edited(r"(name='zkl_lock_verify' version=)'ZKLOCK_0\.1'", r"\1'ZKLOCK_0.2'")
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

    def test_an_enumerator_that_has_come_breaks_nothing(self):
        earlier = self.edited(r"\s*<enumerator name='ZKL_AS_OPENED'[^>]*/>", "")
        self.assertEqual(self.said(earlier, self.dump), "")

    def test_an_enumerator_of_another_number_is_told(self):
        changed = self.edited(r"(name='ZKL_AS_OPENED' value=)'\d+'", r"\1'17'")
        self.assertIn("ZKL_AS_OPENED", self.said(self.dump, changed))

    def test_a_field_at_the_end_of_a_struct_without_struct_size_is_told(self):
        earlier = self.edited(LAST_FIELD_OF_QUEUE, r"\1'64'\2")
        self.assertIn("zkl_queue", self.said(earlier, self.dump))


if __name__ == "__main__":
    unittest.main()
