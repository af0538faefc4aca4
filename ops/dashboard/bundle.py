"""One script made of the modules, one stylesheet made of the sheets: on the first visit fifty small
files cost a browser more than what is in them, most of all where the node is far away.

Each module becomes a function that is called once, in the order in which a browser would run the
modules. What cannot be put so without a change of its meaning is refused, and so is a file that
nothing imports: what is served cannot drift from what lies in the folder.
"""

import re

SCRIPT, STYLESHEET = "main.js", "dashboard.css"
NAMES = r"\s*[\w$]+(?:\s*,\s*[\w$]+)*\s*,?\s*"
IMPORT = re.compile(
    r'^import (?:\{(' + NAMES + r')\}|([\w$]+)) from "\./([\w.]+)\.js";\n', re.M
)
EXPORT = re.compile(r"^export (?=(?:(?:async )?function|class|const) ([\w$]+))", re.M)
EXPORT_DEFAULT = re.compile(r"^export default ([\w$]+);\n?", re.M)
OTHER_FORM = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*[(.].*", re.M)
IMPORT_SHEET = re.compile(r'^@import "\./([\w.]+)";\n', re.M)
OTHER_RULE = re.compile(r"@(?:import|charset|namespace)\b.*|\burl\(.*")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def refuse(file, why):
    raise SystemExit(f"bundle.py: {file}: {why}")


class Module:
    def __init__(self, file, text):
        self.file = file
        self.imports = []  # (module, names of what it exports, the name for its default)
        self.exports = {name: name for name in EXPORT.findall(text)}
        for names, default, module in IMPORT.findall(text):
            wanted = [one.strip() for one in names.split(",") if one.strip()]
            self.imports.append((module, wanted or ["default"], default))
        if default := EXPORT_DEFAULT.search(text):
            self.exports["default"] = default[1]
        self.body = EXPORT.sub("", EXPORT_DEFAULT.sub("", IMPORT.sub("", text)))
        if other := OTHER_FORM.search(self.body):
            refuse(file, f"this form is not known: {other[0].strip()[:80]}")

    def as_function(self, name):
        taken = [
            f"const {default} = ${module}.default;\n"
            if default
            else f"const {{{', '.join(wanted)}}} = ${module};\n"
            for module, wanted, default in self.imports
        ]
        given = ", ".join(
            local if local == exported else f"{exported}: {local}"
            for exported, local in self.exports.items()
        )
        return (
            f"// {self.file}\nconst ${name} = (() => {{\n{''.join(taken)}{self.body.rstrip()}\n"
            f"return {{{given}}};\n}})();\n"
        )


def order_of(modules):
    """Those that a module imports stand before it, in the order of its imports."""
    ordered, begun = [], []

    def visit(name, importer):
        if name in ordered:
            return
        if name in begun:
            refuse(f"{name}.js", f"imports itself, by way of {importer}")
        if name not in modules:
            refuse(importer, f"imports {name}.js, which is not there")
        begun.append(name)
        for module, wanted, _ in modules[name].imports:
            visit(module, f"{name}.js")
            for missing in set(wanted) - modules[module].exports.keys():
                refuse(f"{name}.js", f"imports {missing}, which {module}.js does not export")
        ordered.append(name)

    visit(SCRIPT.removesuffix(".js"), "the page")
    return ordered


def script_of(texts):
    """texts: by the names of files."""
    modules = {file.removesuffix(".js"): Module(file, text) for file, text in texts.items()}
    ordered = order_of(modules)
    for unused in modules.keys() - set(ordered):
        refuse(f"{unused}.js", "no module imports it")
    return "".join(modules[name].as_function(name) for name in ordered)


def stylesheet_of(texts):
    """Sheets in the order in which dashboard.css imports them. It has no rules of its own."""
    ordered = IMPORT_SHEET.findall(texts[STYLESHEET])
    if own := COMMENT.sub("", IMPORT_SHEET.sub("", texts[STYLESHEET])).strip():
        refuse(STYLESHEET, f"imports sheets, and nothing else: {own[:80]}")
    for file in ordered:
        if file not in texts:
            refuse(STYLESHEET, f"imports {file}, which is not there")
        if other := OTHER_RULE.search(texts[file]):
            refuse(file, f"this rule is not known: {other[0][:80]}")
        if texts[file].count("{") != texts[file].count("}"):
            refuse(file, "a rule has no end")
    for unused in texts.keys() - {*ordered, STYLESHEET}:
        refuse(unused, f"{STYLESHEET} does not import it")
    return "".join(f"/* {file} */\n{texts[file].rstrip()}\n" for file in ordered)


def served(files):
    """By the names under which a browser asks: the bytes. files: paths, with all that is there."""
    contents = {file.name: file.read_bytes() for file in files}
    scripts = {name: text.decode() for name, text in contents.items() if name.endswith(".js")}
    sheets = {name: text.decode() for name, text in contents.items() if name.endswith(".css")}
    others = {name: contents[name] for name in contents.keys() - scripts.keys() - sheets.keys()}
    return {
        **others,
        SCRIPT: script_of(scripts).encode(),
        STYLESHEET: stylesheet_of(sheets).encode(),
    }
