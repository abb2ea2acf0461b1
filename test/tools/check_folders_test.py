#!/usr/bin/env python3
"""Tests tools/check-folders.py and tools/cpp_functions.py."""
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
spec = importlib.util.spec_from_file_location("check_folders", TOOLS / "check-folders.py")
check_folders = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_folders)
import cpp_functions  # noqa: E402


def declared(text):
    return [("::".join((*each.scope, each.name)), len(each.parameters))
            for each in cpp_functions.functions_of(text) if not each.defined]


def defined(text):
    return [each.spelled for each in cpp_functions.functions_of(text) if each.defined]


def mistakes(**files):
    """Returns the mistakes of files of runtime/a: X_h="..." is the content of X.h."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / "runtime/a" / ".".join(name.rsplit("_", 1))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [mistake for mistake in check_folders.mistakes_of_pairs(*check_folders.read_pairs(Path(folder)))
                if "the exception goes" not in mistake]


class Declarations(unittest.TestCase):
    def test_functions_of_namespaces_and_classes_are_found(self):
        text = """namespace a::b {
        // int no(int x);
        int f(int x, std::vector<int> y = {});
        class C final : public D<int> {
        public:
          explicit C(std::function<void(int)> call);
          virtual ~C();
          int get() const { return f(1); }
          [[nodiscard]] bool operator()(int x) const;
          virtual void later() = 0;
          C(const C &) = delete;
        private:
          int x{3};
          std::vector<int> list = {1, 2};
        };
        }"""
        self.assertEqual(declared(text),
                         [("a::b::f", 2), ("a::b::C::C", 1), ("a::b::C::~C", 0), ("a::b::C::operator()", 1)])

    def test_what_is_no_function_is_not_taken_for_one(self):
        self.assertEqual(declared("using F = void (*)(int);\nextern int x;\nint (*pointer)(int);\nclass C;\n"
                                  "enum class E : int { A, B };\nstatic_assert(sizeof(int) == 4);\n"), [])

    def test_friends_belong_to_the_namespace(self):
        self.assertEqual(declared("namespace a { struct S { friend bool operator==(S x, S y); }; }"),
                         [("a::operator==", 2)])


class Definitions(unittest.TestCase):
    def test_members_operators_and_templates_are_found(self):
        text = """namespace a {
        C::C(int x) : D{x}, y(x), z{1} { f(); }
        C::~C() = default;
        template <typename T> std::map<int, T> C::get(int x) const { return {}; }
        bool operator<(const C &x, const C &y) { return false; }
        MACRO(3)
        void after(int x) {}
        }"""
        self.assertEqual(defined(text), ["C::C", "C::~C", "C::get", "operator<", "after"])

    def test_what_other_files_cannot_see_is_left_out(self):
        self.assertEqual(defined("namespace { int f() { return 1; } }\nstatic int g() { return 1; }\n"
                                 "auto h = [](int x) { return x; };\n"), [])


class Owners(unittest.TestCase):
    def owners(self, source, **headers):
        declarations = cpp_functions.declarations_of({f"{name}.h": cpp_functions.functions_of(text)
                                                      for name, text in headers.items()})
        return [cpp_functions.owners_of(each, declarations) for each in cpp_functions.functions_of(source)]

    def test_overloads_are_told_apart(self):
        headers = {"A": "namespace a { int f(int x); }", "B": "namespace a { int f(const std::string &text); }",
                   "C": "namespace a { int f(int x, int y = 0); }"}
        self.assertEqual(self.owners("namespace a { int f(const std::string &t) {}  int f(int x, int y) {} }",
                                     **headers), [["B.h"], ["C.h"]])

    def test_qualified_names_are_looked_up(self):
        headers = {"A": "namespace a::b { struct S { int get(); }; int f(); }"}
        self.assertEqual(self.owners("using namespace a::b;\nint S::get() {}\nint a::b::f() {}\n", **headers),
                         [["A.h"], ["A.h"]])


class Pairs(unittest.TestCase):
    def test_pairs_without_circles_and_with_functions_in_place_pass(self):
        self.assertEqual(mistakes(A_h="int f();",
                                  A_cpp='#include "runtime/a/A.h"\n#include "runtime/a/B.h"\nint f() {}',
                                  B_h='int g();', B_cpp='#include "runtime/a/B.h"\nint g() {}'), [])

    def test_a_circle_through_sources_is_found(self):
        self.assertEqual(mistakes(A_h="", A_cpp='#include "runtime/a/B.h"\n', B_h='#include "runtime/a/A.h"\n'),
                         ["files include each other in a circle: runtime/a/A, runtime/a/B",
                          "  runtime/a/A.cpp includes runtime/a/B.h", "  runtime/a/B.h includes runtime/a/A.h"])

    def test_a_function_in_another_source_is_found(self):
        self.assertEqual(mistakes(A_h="struct S { int get(); };", B_cpp="int S::get() { return 1; }"),
                         ["runtime/a/A.h declares what runtime/a/B.cpp defines, a source of another name: S::get"])


if __name__ == "__main__":
    unittest.main()
