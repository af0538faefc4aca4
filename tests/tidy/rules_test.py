"""Each rule must fail on a planted violation, and must not fail on what only looks like one."""

import pathlib
import tempfile
import unittest
import unittest.mock

import cpp_source
import rules
import tidy


def broken(rule, **files):
    """The paths that the rule blames. Keys: path with __ for / and _dot_ for the last dot."""
    tree = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return [(path, line) for path, line, _ in rule(tree)]


class Layering(unittest.TestCase):
    def test_schemas_know_nothing_above(self):
        self.assertEqual(broken(rules.layering, schemas__a_dot_h='// A.\n#include "stream_ops/log/log.h"\n'), [("schemas/a.h", 2)])

    def test_operators_know_no_stream(self):
        self.assertTrue(broken(rules.layering, diagnosis__hang__hang_dot_cc='#include "stream_ops/processor.h"\n'))

    def test_the_stage_that_asks_it_may_include_both(self):
        self.assertFalse(broken(rules.layering, stream_ops__diagnose__a_dot_h='#include "diagnosis/operator.h"\n#include "stream_ops/processor.h"\n'))
        self.assertTrue(broken(rules.layering, stream_ops__align__a_dot_h='#include "diagnosis/operator.h"\n'))

    def test_rooms_of_diagnosis_include_those_before(self):
        self.assertTrue(broken(rules.layering, diagnosis__measurements__a_dot_h='#include "diagnosis/report/held_up.h"\n'))
        self.assertTrue(broken(rules.layering, diagnosis__spike__a_dot_h='#include "diagnosis/explanation/impact.h"\n'))
        self.assertFalse(broken(rules.layering, diagnosis__ledger__a_dot_h='#include "diagnosis/explanation/shared_cause.h"\n'))

    def test_producers_use_only_the_pattern_core(self):
        self.assertFalse(broken(rules.layering, producers__nccl__a_dot_h='#include "stream_ops/pattern/sweep.h"\n'))
        self.assertTrue(broken(rules.layering, producers__nccl__a_dot_h='#include "stream_ops/topics.h"\n'))

    def test_the_core_of_the_producers_carries_batches_away(self):
        self.assertFalse(broken(rules.layering, producers__core__a_dot_h='#include "stream_ops/topics.h"\n'))
        self.assertTrue(broken(rules.layering, producers__core__a_dot_h='#include "diagnosis/operator.h"\n'))

    def test_the_pattern_core_uses_only_schemas(self):
        self.assertTrue(broken(rules.layering, stream_ops__pattern__a_dot_cc='#include "stream_ops/log/log.h"\n'))

    def test_nobody_includes_tests(self):
        self.assertTrue(broken(rules.layering, ops__cli__a_dot_cc='#include "tests/golden/a.h"\n'))

    def test_a_comment_is_no_include(self):
        self.assertFalse(broken(rules.layering, schemas__a_dot_h='// #include "ops/cli/main.h"\n/*\n#include "ops/a.h"\n*/\n'))


    def test_the_simulator_knows_no_diagnosis(self):
        self.assertTrue(broken(rules.layering, tests__evaluation__simulate__a_dot_h='#include "diagnosis/operator.h"\n'))
        self.assertFalse(broken(rules.layering, tests__evaluation__simulate__a_dot_h='#include "schemas/ids.h"\n'))

    def test_the_product_links_no_evaluation(self):
        made = "eroica_library(simulate\n  SOURCES a.cc)\n"
        links = "target_link_libraries(eroica PRIVATE eroica::simulate)\n"
        tree = {"tests/evaluation/simulate/CMakeLists.txt": made, "ops/cli/CMakeLists.txt": links}
        self.assertEqual([path for path, _, _ in rules.evaluation_stays_out(tree)], ["ops/cli/CMakeLists.txt"])
        tree["ops/cli/CMakeLists.txt"] = links.replace("simulate", "schemas")
        self.assertFalse(list(rules.evaluation_stays_out(tree)))


class ChecksOnOutside(unittest.TestCase):
    def test_readers_check_nothing(self):
        for code in ("EROICA_CHECK(lanes.size() < 9);", "CheckFailed(__FILE__, 1, text);", "std::abort();", "assert(x);"):
            with self.subTest(code):
                self.assertEqual(broken(rules.no_check_on_outside, producers__import__a_dot_cc=f"\n{code}\n"), [("producers/import/a.cc", 2)])

    def test_nobody_checks_what_payloads_state(self):
        for value in ("standing->rank.value < view.world_size", "end->rank < 3", "encoder.Encode(x).ok()", "input.start_ns\n >= 0", "!ranks_.empty()"):
            with self.subTest(value):
                self.assertTrue(broken(rules.no_check_on_outside, stream_ops__align__a_dot_cc=f"EROICA_CHECK({value});\n"))

    def test_invariants_of_a_type_may_be_checked(self):
        for code in ("EROICA_CHECK(context_ != nullptr);", "EROICA_CHECK(size(rows) == f(x)); int rank = 0;", "// EROICA_CHECK(rank < 3)", "static_assert(kRank == 3);"):
            with self.subTest(code):
                self.assertFalse(broken(rules.no_check_on_outside, stream_ops__align__a_dot_cc=code + "\n"))

    def test_tests_may_check_anything(self):
        self.assertFalse(broken(rules.no_check_on_outside, schemas__a_test_dot_cc="EROICA_CHECK(rank == 0);\n"))
        self.assertFalse(broken(rules.no_check_on_outside, schemas__check_dot_h="// The check.\n#define EROICA_CHECK(x) CheckFailed(x)\n"))
        self.assertFalse(broken(rules.no_check_on_outside, ops__findings__testing__a_dot_h="// A.\nEROICA_CHECK(made.ok());\n"))

    def test_the_encoder_of_tests_is_none_of_the_product(self):
        include = '#include "schemas/test_encoder.h"\n'
        self.assertTrue(broken(rules.test_encoder_is_for_tests, producers__core__a_dot_cc=include))
        self.assertFalse(broken(rules.test_encoder_is_for_tests, producers__core__a_test_dot_cc=include))
        self.assertFalse(broken(rules.test_encoder_is_for_tests, tests__benchmarks__a_dot_cc=include))


class Includes(unittest.TestCase):
    def test_paths_from_the_root(self):
        self.assertEqual(broken(rules.include_paths, schemas__a_dot_h="// A.\n", schemas__a_dot_cc='#include "a.h"\n'), [("schemas/a.cc", 1)])
        self.assertFalse(broken(rules.include_paths, schemas__a_dot_h="// A.\n", schemas__a_dot_cc='#include "schemas/a.h"\n'))
        self.assertFalse(broken(rules.include_paths, schemas__a_dot_cc='#include "event_generated.h"\n#include <a.h>\n'))
        self.assertFalse(broken(rules.include_paths, schemas__a_test_dot_cc='#include "gtest/gtest.h"\n'))
        self.assertTrue(broken(rules.include_paths, schemas__a_dot_cc='#include "../ops/a.h"\n'))

    def test_each_library_has_its_place(self):
        for include in ("librdkafka/rdkafka.h", "rocksdb/db.h", "flatbuffers/flatbuffers.h", "toml++/toml.h", "CLI/CLI.hpp", "simdjson.h", "zlib.h"):
            with self.subTest(include):
                self.assertTrue(broken(rules.library_owners, stream_ops__log__a_dot_cc=f"#include <{include}>\n"))

    def test_the_owner_may(self):
        self.assertFalse(broken(rules.library_owners, stream_ops__kafka__a_dot_cc="#include <librdkafka/rdkafka.h>\n"))
        self.assertFalse(broken(rules.library_owners, state_store__rocksdb_store_test_dot_cc="#include <rocksdb/db.h>\n"))
        self.assertTrue(broken(rules.library_owners, state_store__key_schema_dot_cc="#include <rocksdb/db.h>\n"))


class Code(unittest.TestCase):
    def test_threads(self):
        for code in ("std::thread t;", "std::jthread t;", "auto f = std::async(g);", "pthread_create(&t, 0, g, 0);"):
            with self.subTest(code):
                self.assertTrue(broken(rules.threads, state_store__a_dot_cc=code))
        self.assertTrue(broken(rules.threads, state_store__a_dot_cc="BoundaryThread t(f, g);"))
        self.assertFalse(broken(rules.threads, ops__cli__a_dot_cc="BoundaryThread t(f, g);"))
        self.assertFalse(broken(rules.threads, state_store__a_test_dot_cc="#include <gtest/gtest.h>\nstd::jthread t;"))
        self.assertFalse(broken(rules.threads, state_store__a_dot_cc="// std::thread\nstd::this_thread::yield();"))

    def test_throw(self):
        self.assertTrue(broken(rules.no_throw, schemas__a_dot_cc="void f() { throw 1; }"))
        self.assertFalse(broken(rules.no_throw, schemas__a_dot_cc='// throw\nconst char* a = "throw";'))

    def test_the_end_of_a_thread_is_not_caught(self):
        catches = "void f() { try { g(); } catch (%s) {} }"
        self.assertTrue(broken(rules.no_catch_all_in_producers, producers__python__a_dot_cc=catches % "..."))
        self.assertFalse(broken(rules.no_catch_all_in_producers, producers__python__a_dot_cc=catches % "const std::exception&"))
        self.assertFalse(broken(rules.no_catch_all_in_producers, ops__rest__a_dot_cc=catches % "..."))

    def test_sleep(self):
        self.assertTrue(broken(rules.no_sleep_in_tests, schemas__a_test_dot_cc="#include <gtest/gtest.h>\nstd::this_thread::sleep_for(1s);"))
        self.assertFalse(broken(rules.no_sleep_in_tests, schemas__a_dot_cc="std::this_thread::sleep_for(1s);"))

    def test_headers(self):
        self.assertEqual(len(broken(rules.headers, schemas__a_dot_h="int a;\n")), 2)
        self.assertFalse(broken(rules.headers, schemas__a_dot_h="// What it is.\n#pragma once\nint a;\n"))


    def test_one_definition(self):
        one = "struct Window {\n  struct Row {\n  };\n};\n"
        self.assertEqual(broken(rules.one_definition, schemas__a_dot_h=one, schemas__b_dot_h="\nstruct Window : A {\n};\n"), [("schemas/b.h", 2)])
        self.assertFalse(broken(rules.one_definition, schemas__a_dot_h=one, schemas__b_dot_h="struct Window;\nstruct Row {};\n"))


    def test_boundaries(self):
        for code in ("std::thread t(f);", "std::jthread t(f);", "auto f = std::async(g);", "net::thread_pool pool{2};", "io_.run();", "io.run_one_for(time);",
                     "try { f(); } catch (...) {}"):
            with self.subTest(code):
                self.assertTrue(broken(rules.boundaries, ops__cli__a_dot_cc=code))
                self.assertFalse(broken(rules.boundaries, ops__cli__a_test_dot_cc="#include <gtest/gtest.h>\n" + code))
        for code in ("BoundaryThread t(f, g);", "std::this_thread::yield();", "catch (const std::exception& e) {}", "// catch (...)", "replay.run();"):
            with self.subTest(code):
                self.assertFalse(broken(rules.boundaries, ops__cli__a_dot_cc=code))

    def test_who_may_start_bare_threads_has_a_boundary(self):
        code = "pthread_create(&t, 0, g, 0);\n"
        self.assertTrue(broken(rules.boundaries, producers__python__stack_sampler_dot_cc=code))
        self.assertFalse(broken(rules.boundaries, producers__python__stack_sampler_dot_cc=code + "RunAtBoundary(f, h);\n"))

    def test_a_test_throws_at_each_boundary(self):
        test = "#include <gtest/gtest.h>\n// Throws at ops/cli/a.cc: the watch\n"
        for code in ("RunAtBoundary(f, h);", "return AtBoundary(f, h);", "thread_ = BoundaryThread(f, h);", "BoundaryThread watch(f, h);"):
            with self.subTest(code):
                self.assertEqual(broken(rules.thrown_at, ops__cli__a_dot_cc=code), [("ops/cli/a.cc", 1)])
                self.assertFalse(broken(rules.thrown_at, ops__cli__a_dot_cc=code, ops__cli__a_test_dot_cc=test))
        for code in ("BoundaryThread thread_;", "int ExitAtBoundary(f);", "// RunAtBoundary(f, h)"):
            with self.subTest(code):
                self.assertFalse(broken(rules.thrown_at, ops__cli__a_dot_cc=code))

    def test_where_a_test_throws_there_is_a_boundary(self):
        test = "#include <gtest/gtest.h>\n// Throws at ops/cli/a.cc: the watch\n"
        self.assertEqual(broken(rules.thrown_at, ops__cli__a_test_dot_cc=test), [("ops/cli/a_test.cc", 2)])


class Length(unittest.TestCase):
    def test_files(self):
        self.assertTrue(broken(rules.file_length, schemas__a_dot_cc="\n" * 501))
        self.assertFalse(broken(rules.file_length, schemas__a_dot_cc="\n" * 500))

    def test_lines(self):
        code = "\nint a = 0;" + " " * 90
        self.assertEqual(broken(rules.line_length, schemas__a_dot_cc=code + "\n"), [])
        self.assertEqual(broken(rules.line_length, schemas__a_dot_cc=code + "b\n"), [("schemas/a.cc", 2)])
        self.assertEqual(broken(rules.line_length, schemas__a_dot_cc=code + "// why\n"), [("schemas/a.cc", 2)])
        comment = "  // " + "a" * 95
        self.assertEqual(broken(rules.line_length, schemas__a_dot_h=comment + "\n"), [])
        self.assertEqual(broken(rules.line_length, schemas__a_dot_h=comment + "a\n"), [("schemas/a.h", 1)])
        self.assertFalse(broken(rules.line_length, schemas__a_dot_cc="// " + "ä" * 97 + "\n"), "columns, not bytes")
        raw = 'char a[] = R"(\n' + "a" * 200 + '\n)";\n'
        self.assertFalse(broken(rules.line_length, ops__a_dot_cc=raw))
        self.assertTrue(broken(rules.line_length, ops__a_dot_cc=raw + 'char b[] = "' + "b" * 200 + '";\n'))
        self.assertFalse(broken(rules.line_length, docs__a_dot_md="a" * 500 + "\n"))

    def test_functions(self):
        body = "  a();\n"
        self.assertEqual(broken(rules.function_length, schemas__a_dot_cc="\nvoid F(int a) {\n" + body * 69 + "}\n"), [("schemas/a.cc", 2)])
        self.assertFalse(broken(rules.function_length, schemas__a_dot_cc="void F(int a) {\n" + body * 68 + "}\n"))

    def test_methods_tests_and_constructors(self):
        body = "  a();\n" * 70
        for head in ("class A {\n  A() : b_(1) {\n", "namespace x {\nstatic int F() const noexcept {\n", "TEST(A, B) {\n", "A::A() : b_{1}, c_(2) {\n"):
            with self.subTest(head):
                self.assertTrue(broken(rules.function_length, schemas__a_dot_cc=head + body + "}\n}\n"))

    def test_long_namespaces_classes_and_tables_are_no_functions(self):
        rows = "  int a;\n" * 80
        for head in ("namespace eroica {\n", "class A : public B<decltype(c())> {\n", "enum class A {\n", "const int kTable[] = {\n"):
            with self.subTest(head):
                self.assertFalse(broken(rules.function_length, schemas__a_dot_cc=head + rows + "};\n"))

    def test_python(self):
        self.assertTrue(broken(rules.function_length, tests__a_dot_py="def f():\n" + "    pass\n" * 70))
        self.assertFalse(broken(rules.function_length, tests__a_dot_py="def f():\n" + "    pass\n" * 69))


class Words(unittest.TestCase):
    def test_file_names(self):
        for name in ("schemas__string_util_dot_h", "schemas__common__a_dot_h", "ops__helper_dot_py", "ops__misc_dot_cc"):
            with self.subTest(name):
                self.assertTrue(broken(rules.file_names, **{name: ""}))
        self.assertFalse(broken(rules.file_names, schemas__communicator_dot_h=""))

    def test_words(self):
        for word in ("TODO", "FIXME", "XXX", "HACK", "for now", "placeholder", "dummy", "simplified"):
            with self.subTest(word):
                self.assertTrue(broken(rules.banned_words, docs__a_dot_md=f"This is {word}.\n"))
        self.assertFalse(broken(rules.banned_words, docs__a_dot_md="XXH3 hashes; hackers; toDo\n"))

    def test_machine_paths(self):
        for path in ("/" + "work/main", "/" + "home/someone", "/" + "root/x", "/" + "tmp/team/x"):  # in two parts: this file is looked at, too
            with self.subTest(path):
                self.assertTrue(broken(rules.machine_paths, docs__a_dot_md=f"see {path}\n"))
        self.assertFalse(broken(rules.machine_paths, docs__a_dot_md="docs/work/a ../shared/home/x\n"))

    def test_registry_hosts(self):
        self.assertTrue(broken(rules.registry_hosts, ops__a_dot_sh="curl https://repo1." + "maven.org/x\n"))
        self.assertFalse(broken(rules.registry_hosts, ops__kafka__pom_dot_xml="http://" + "maven.apache.org/POM/4.0.0\n"))


class Documents(unittest.TestCase):
    def test_links(self):
        self.assertTrue(broken(rules.doc_links, docs__a_dot_md="[b](b.md)\n"))
        self.assertTrue(broken(rules.doc_links, docs__a_dot_md="[b](#no-heading)\n# Heading\n"))
        good = "[b](../ops/b.md) [o](../ops) [c](https://example.org) [h](#the-way-of-data)\n## The way of data\n"
        self.assertFalse(broken(rules.doc_links, docs__a_dot_md=good, ops__b_dot_md=""))

    def test_architecture_names_what_exists(self):
        self.assertTrue(broken(rules.architecture_map))
        self.assertTrue(broken(rules.architecture_map, docs__ARCHITECTURE_dot_md="see `schemas/a.h`\n"))
        self.assertFalse(broken(rules.architecture_map, docs__ARCHITECTURE_dot_md="see `schemas/a.{h,cc}`\n", schemas__a_dot_h="", schemas__a_dot_cc=""))

    def test_architecture_names_every_folder(self):
        self.assertTrue(broken(rules.architecture_map, docs__ARCHITECTURE_dot_md="nothing\n", schemas__a_dot_h=""))


class Tree(unittest.TestCase):
    def test_without_git_build_folders_are_left_out(self):
        with tempfile.TemporaryDirectory() as root:
            for path, content in (("schemas/a.h", b"// A.\n"), ("build/b.h", b"b"), ("c.bin", b"\0")):
                file = pathlib.Path(root, path)
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(content)
            self.assertEqual(tidy.read_tree(root), {"c.bin": "", "schemas/a.h": "// A.\n"})
            with unittest.mock.patch.dict("os.environ", {"PATH": ""}):  # a bare machine, on which git is not installed
                self.assertEqual(tidy.read_tree(root), {"c.bin": "", "schemas/a.h": "// A.\n"})

    def test_digit_separators_and_raw_strings(self):
        code = "int a = 65'536; char b = '}'; auto c = R\"x({ // )\" })x\"; // {\n"
        self.assertEqual(cpp_source.without_comments_and_literals(code).count("{"), 0)
        self.assertIn("65'536", cpp_source.without_comments_and_literals(code))


if __name__ == "__main__":
    unittest.main()
