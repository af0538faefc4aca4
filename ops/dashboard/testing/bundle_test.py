"""Modules and sheets become one file each, and mean what they meant; what would not is refused."""

import pathlib
import sys
import tempfile
import unittest

PAGES = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(PAGES))
import bundle  # noqa: E402


class Scripts(unittest.TestCase):
    def refused(self, why, **texts):
        with self.assertRaisesRegex(SystemExit, why):
            bundle.script_of({f"{name}.js": text for name, text in texts.items()})

    def test_modules_run_in_the_order_of_a_browser(self):
        script = bundle.script_of(
            {
                "main.js": 'import {b} from "./b.js";\nimport c from "./c.js";\nb(c);\n',
                "b.js": 'import {\n  d,\n} from "./d.js";\nexport const b = d;\n',
                "c.js": "const c = 1;\nexport default c;\n",
                "d.js": "export async function d() {}\nexport class E {}\n",
            }
        )
        self.assertEqual(
            script,
            "// d.js\nconst $d = (() => {\nasync function d() {}\nclass E {}\n"
            "return {d, E};\n})();\n"
            "// b.js\nconst $b = (() => {\nconst {d} = $d;\nconst b = d;\nreturn {b};\n})();\n"
            "// c.js\nconst $c = (() => {\nconst c = 1;\nreturn {default: c};\n})();\n"
            "// main.js\nconst $main = (() => {\nconst {b} = $b;\nconst c = $c.default;\nb(c);\n"
            "return {};\n})();\n",
        )

    def test_a_module_that_nothing_imports_is_refused(self):
        self.refused("unused.js: no module imports it", main="", unused="")

    def test_what_is_imported_must_be_there(self):
        self.refused("main.js: imports a.js, which", main='import {a} from "./a.js";\n')
        self.refused(
            "imports b, which a.js does not",
            main='import {b} from "./a.js";\n',
            a="export const a = 1;\n",
        )

    def test_modules_that_need_each_other_are_refused(self):
        self.refused(
            "imports itself, by way of b.js",
            main='import {a} from "./a.js";\n',
            a='import {b} from "./b.js";\nexport const a = 1;\n',
            b='import {a} from "./a.js";\nexport const b = 1;\n',
        )

    def test_forms_that_mean_more_are_refused(self):
        for form in (
            "export let a = 1;",
            "export {a};",
            'export * from "./a.js";',
            'import * as a from "./a.js";',
            'import {a as b} from "./a.js";',
            'import "./a.js";',
            'import {a} from "https://elsewhere/a.js";',
            'const a = await import("./a.js");',
            "const here = import.meta.url;",
        ):
            self.refused("this form is not known", main=form + "\n")


class Sheets(unittest.TestCase):
    def test_sheets_stay_in_their_order(self):
        texts = {
            "dashboard.css": '@import "./b.css";\n@import "./a.css";\n',
            "a.css": "a {}\n",
            "b.css": "b {}\n",
        }
        self.assertEqual(bundle.stylesheet_of(texts), "/* b.css */\nb {}\n/* a.css */\na {}\n")

    def test_what_would_change_its_meaning_is_refused(self):
        for why, texts in (
            ("a.css: dashboard.css does not import it", {"dashboard.css": "", "a.css": ""}),
            ("imports a.css, which is not", {"dashboard.css": '@import "./a.css";\n'}),
            ("and nothing else", {"dashboard.css": '@import "https://elsewhere/a.css";\n'}),
            ("and nothing else", {"dashboard.css": "a { color: red; }\n"}),
            (
                "a.css: this rule is not known",
                {"dashboard.css": '@import "./a.css";\n', "a.css": '@import "./b.css";\n'},
            ),
            (
                "a.css: a rule has no end",
                {"dashboard.css": '@import "./a.css";\n', "a.css": "a { color: red;\n"},
            ),
        ):
            with self.subTest(why), self.assertRaisesRegex(SystemExit, why):
                bundle.stylesheet_of(texts)


class Served(unittest.TestCase):
    def test_the_dashboard_is_one_script_and_one_stylesheet(self):
        files = [*PAGES.iterdir(), *(PAGES / "third_party" / "uplot").iterdir()]
        known = [one for one in files if one.suffix in (".html", ".css", ".js", ".svg")]
        served = bundle.served(known)
        self.assertEqual(set(served), {"index.html", "icon.svg", "main.js", "dashboard.css"})
        for file in known:
            if file.suffix == ".js":
                self.assertIn(f"// {file.name}\n", served["main.js"].decode())

    def test_other_files_stay_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("main.js", "dashboard.css", "icon.svg"):
                pathlib.Path(folder, name).write_text("")
            pathlib.Path(folder, "icon.svg").write_bytes(b"\x00\xff")
            served = bundle.served(pathlib.Path(folder).iterdir())
        self.assertEqual(served["icon.svg"], b"\x00\xff")


if __name__ == "__main__":
    unittest.main()
