"""The options and commands that the pages name are there: options in the table of the engine, commands and their options in the tool.

usage: names.py ROOT
"""

import pathlib
import re
import sys

# What is set in the environment, and is no option of the library.
OTHERS = {"OPTIONS"}
SET = re.compile(r"\bTSLAB_([A-Z][A-Z0-9_]*)=")
NAMED = re.compile(r"\boptions? `([a-z][a-z0-9_]*)(?:=[^`]*)?`")
# A command at the start of a line or of a phrase of code, after the variables that are set for it.
COMMAND = re.compile(r"(?:^ {4}|`)(?:[A-Z_]+=\S+ )*(?:sudo )?(?:lab/|tools/)?(lab|tslab|tslab-run) (?!\.)([^`\n]*)", re.MULTILINE)


def options_of(root):
    """The names in the option table."""
    return set(re.findall(r"^    X\([A-Z_]+, (\w+),", (root / "src/common/option.h").read_text(), re.MULTILINE))


def knobs_of(root):
    """What CMake takes."""
    files = [root / "CMakeLists.txt", root / "tests/CMakeLists.txt", *sorted((root / "cmake").glob("*"))]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    return set(re.findall(r"\bTSLAB_([A-Z_]+)\b", text))


def with_imports(root, path):
    """The source of a command, and of what it imports of the tool, which adds options that several commands have."""
    text = path.read_text()
    for package, names in re.findall(r"^from (tslab_(?:lab|tools)[.\w]*) import (.+)", text, re.MULTILINE):
        above = root / ("lab" if package.startswith("tslab_lab") else "tools") / package.replace(".", "/")
        files = (above / f"{name}.py" for name in re.findall(r"\w+", names))
        text += "".join(file.read_text() for file in files if file.is_file())
    return text


def commands_of(root):
    """Each command of the two programs, as "tslab run", with its source."""
    folders = {"tslab": root / "tools/tslab_tools/commands", "lab": root / "lab/tslab_lab/commands"}
    files = ((program, path) for program, folder in folders.items() for path in folder.glob("*.py"))
    return {f"{program} {path.stem}": with_imports(root, path) for program, path in files if path.stem != "__init__"}


def pages_of(root):
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return {str(page.relative_to(root)): page.read_text() for page in pages}


def complaints_of_command(program, words, commands, common):
    first, *rest = words.partition(" -- ")[0].partition("#")[0].split() or [""]
    if not re.fullmatch(r"[a-z]+", first):
        return
    if first == "statistics":  # the head of a report
        return
    if f"{program} {first}" not in commands:
        yield f"{program} {first} is no command"
        return
    there = commands[f"{program} {first}"] + common
    for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(rest)):
        if f'"{flag}"' not in there and f'Option("{flag[2:].replace("-", "_")}"' not in there:
            yield f"{program} {first} has no option {flag}"


def complaints(pages, options, knobs, commands, common):
    for page, text in pages.items():
        for name in SET.findall(text):
            if name.lower() not in options and name not in OTHERS | knobs:
                yield f"{page}: TSLAB_{name} is no option"
        for name in NAMED.findall(text):
            if name not in options:
                yield f"{page}: {name} is no option"
        for program, words in COMMAND.findall(text):
            if program == "tslab-run":
                program, words = "tslab", "run " + re.match(r"(?:--\S+ )*", words)[0]
            yield from (f"{page}: {found}" for found in complaints_of_command(program, words, commands, common))


def main():
    root = pathlib.Path(sys.argv[1])
    common = (root / "tools/tslab_tools/cli.py").read_text()
    found = sorted(set(complaints(pages_of(root), options_of(root), knobs_of(root), commands_of(root), common)))
    print("\n".join(found) or "The pages name options and commands that are there.")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
