#!/usr/bin/env python3
"""Tests tools/check-english.py."""
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/check-english.py"
spec = importlib.util.spec_from_file_location("check_english", TOOL)
check_english = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_english)


def comments(text, mark="//"):
    return check_english.comments_of(text.splitlines(), mark)


def declarations(text):
    return [(name, documented) for _, name, documented in check_english.declarations_of(text.splitlines())]


class Comments(unittest.TestCase):
    def test_a_block_is_one_comment(self):
        self.assertEqual(comments("// One.\n// Of two.\nint x;\n// Three.\n"), [(1, "One."), (4, "Three.")])

    def test_the_end_of_a_line_is_a_comment_that_lines_below_it_go_on(self):
        self.assertEqual(comments("int x; // bytes,\n       // of x\nint y; // bits\n"), [(1, "bytes,"), (3, "bits")])

    def test_marks_in_strings_are_none(self):
        self.assertEqual(comments('auto x = "http://a"; // an address\n'), [(1, "an address")])
        self.assertEqual(comments("x = '#'  # a mark\n", "#"), [(1, "a mark")])

    def test_digit_separators_open_no_string(self):
        self.assertEqual(comments("int x = 1'000; // a thousand\n"), [(1, "a thousand")])

    def test_comments_for_tools_are_none(self):
        self.assertEqual(comments("} // namespace dtc\n// clang-format off\n#!/bin/sh\n"), [])

    def test_docstrings_of_python_count(self):
        self.assertEqual(check_english.docstrings_of('"""Top."""\ndef f():\n    """Of f."""\n'),
                         [(1, "Top."), (3, "Of f.")])


class Openings(unittest.TestCase):
    def test_clauses_are_refused(self):
        for text in ("What is left.", "of all ranks", "Whether it ends", "Those of a group", "- Where a run begins"):
            self.assertTrue(check_english.opens_with_clause(text), text)

    def test_sentences_are_taken(self):
        for text in ("Returns what is left.", "By default, all.", "That is, one.", "Offsets of ranks",
                     "If it is, ends."):
            self.assertFalse(check_english.opens_with_clause(text), text)


class Declarations(unittest.TestCase):
    def test_comments_before_and_behind_document(self):
        header = "// A.\nint a(int x);\nint b();\nint c(); // C.\n\n// Not of d.\n\nint d(int x,\n      int y);\n"
        self.assertEqual(declarations(header), [("a", True), ("b", False), ("c", True), ("d", False)])

    def test_only_public_members_count(self):
        header = ("// K.\nclass K {\n  int hidden();\npublic:\n  K(int x);\n  int seen() const;\nprivate:\n  int "
                  "later();\n};\n"
                  "struct S {\n  int open();\n  int size = 0;\n};\n")
        self.assertEqual(declarations(header), [("K", True), ("seen", False), ("S", False), ("open", False)])

    def test_overrides_special_members_and_accessors_need_none(self):
        header = ("// K.\nstruct K {\n  K() = default;\n  ~K();\n  void run() override;\n  bool operator==(const K &) "
                  "const;\n"
                  "  int size() const { return n; }\n  int twice() const { return 2 * n; }\n};\n")
        self.assertEqual(declarations(header), [("K", True), ("twice", False)])

    def test_bodies_declare_nothing(self):
        header = ("// F.\ninline int f() {\n  int x = g();\n  return h(x);\n}\n"
                  "// E.\nenum class E {\n  A,\n  B\n};\nint g();\n")
        self.assertEqual(declarations(header), [("f", True), ("E", True), ("g", False)])

    def test_templates_and_namespaces(self):
        header = ("namespace a {\n// T.\ntemplate <typename X>\nclass T {\npublic:\n  template <typename Y> void f(Y "
                  "&&y);\n};\n"
                  "} // namespace a\n")
        self.assertEqual(declarations(header), [("T", True), ("f", False)])


class Runs(unittest.TestCase):
    def run_in(self, files):
        with tempfile.TemporaryDirectory() as root:
            files = {"tools/README.md": "Tools.\n", **files}
            for name, text in files.items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
            subprocess.run(["git", "add", "."], cwd=root, check=True)
            ran = subprocess.run([sys.executable, TOOL, "--root", root], capture_output=True, text=True)
            return ran.returncode, ran.stdout + ran.stderr

    def test_a_folder_over_four_percent_fails(self):
        code, text = self.run_in({"a/A.cpp": "// Adds.\nint a;\n// Of b.\nint b;\n"})
        self.assertEqual(code, 1)
        self.assertIn("a/A.cpp:3: opens with a clause: Of b.", text)

    def test_a_folder_within_four_percent_passes(self):
        self.assertEqual(self.run_in({"a/A.cpp": "// Adds.\nint a;\n" * 25 + "// Of b.\nint b;\n"})[0], 0)

    def test_long_lines_fail_but_table_rows(self):
        code, text = self.run_in({"a/A.cpp": "// " + "word " * 20 + "\n", "b/README.md": "| " + "word " * 40 + "|\n"})
        self.assertEqual(code, 1)
        self.assertIn("a/A.cpp:1: 103 columns; at most 100", text)
        self.assertNotIn("b/README.md", text)

    def test_quoted_blocks_of_pages_may_be_long(self):
        block = "```\n$ " + "word " * 40 + "\n```\n"
        self.assertEqual(self.run_in({"b/README.md": "Quoted:\n\n" + block})[0], 0)
        code, text = self.run_in({"b/README.md": block + "\n" + "word " * 40 + "\n"})
        self.assertEqual(code, 1)
        self.assertEqual(text.count("columns; at most"), 1)
        self.assertIn("b/README.md:5: 200 columns; at most 120", text)

    def test_raw_strings_may_be_long(self):
        self.assertEqual(self.run_in({"a/A.cpp": 'auto x = R"(' + "word " * 20 + ')";\n'})[0], 0)

    def test_names_in_backquotes_are_no_words(self):
        table = "| say | not | refused |\n| --- | --- | --- |\n| status | outcome | `outcomes?` |\n"
        self.assertEqual(self.run_in({"docs/glossary.md": table, "a/A.cpp": "int a; // see `outcome`\n"})[0], 0)

    def test_words_of_the_table_fail(self):
        table = "| say | not | refused |\n| --- | --- | --- |\n| status | outcome | `outcomes?` |\n"
        code, text = self.run_in({"docs/glossary.md": table, "a/A.cpp": "int outcome; // its outcome\n"})
        self.assertEqual(code, 1)
        self.assertIn("a/A.cpp:1: says 'outcome'; say: status", text)

    def test_names_of_the_last_table_fail_in_code_alone(self):
        table = "## Names that code does not use\n\n| say | refused |\n| --- | --- |\n| position | `places?(?!\\()` |\n"
        code, text = self.run_in({"docs/glossary.md": table, "a/A.cpp": "int places = 1;\n"})
        self.assertEqual(code, 1)
        self.assertIn("a/A.cpp:1: names 'places'; say: position", text)
        kept = 'void place(); // in place\nint inPlace = f("place"), places_2 = 0;\n'
        self.assertEqual(self.run_in({"docs/glossary.md": table, "a/A.cpp": kept})[0], 0)

    def test_headers_without_docstrings_fail(self):
        code, text = self.run_in({"a/A.h": "// Folder.\nint a();\nint b();\n"})
        self.assertEqual(code, 1)
        self.assertIn("a/A.h:3: 'b' has no docstring", text)


if __name__ == "__main__":
    unittest.main()
