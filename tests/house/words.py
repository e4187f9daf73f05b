"""What a program can see of the words in comments and pages.

usage: words.py ROOT

  files      a source or header that a comment or a page names is there
  functions  a function that a card of the engine or of a protocol names is there
  sentences  no sentence of a page, or of a comment of headers, the engine and tests, begins with What,
             unless it asks, and none with a "who" that is nobody in the sentence
  colons     a paragraph of the pages that users read has at most one
  decisions  below its title a decision has its date, and says whether it is in force or names what superseded it
  subjects   the subjects of the last commits are `area: verb object`, at most 60 columns
  bodies     those that change src say why, in a body
"""

import pathlib
import re
import subprocess
import sys

# A file of C in a comment or a phrase of code. Paths count by their last name.
FILE = re.compile(r"(?<![\w.*<{-])((?:[\w-]+/)*[a-z][\w-]*\.(?:c|h|hpp))\b(?!\.|/|-)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
CODE = re.compile(r"`([^`\n]+)`")
# What a card names beside functions: programs of the tests, fields of reports.
OTHERS = {"sim_weak", "stock_granted"}
NAME = re.compile(r"^([a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:\(\))?$")
WHAT = re.compile(r"(?:^|[.:!?] |\| |[-*] |\*\* )(What\s(?!\w+-)[^.?!|]*[.?!|]?)", re.M)
# "Who enters has ...": a pronoun without a person.
WHO = re.compile(r"(?:^|[.:!?] |[-*] )(Who(?:ever)?\s(?!\w+-)[^.?!|]*[.?!|]?)", re.M)
FENCED = re.compile(r"^( *)(?:```|~~~).*?^\1(?:```|~~~)[^\n]*$", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*\n)+")
ITEM = re.compile(r"^(?=\s*(?:[-*]|\d+\.) )", re.M)
COLON = re.compile(r":(?=\s|$)")
SUBJECT = re.compile(r"^[a-z0-9_./-]+(, [a-z0-9_./-]+)*: [a-z]")
STATUS = re.compile(
    r"# .+\n\n\*Decided \d{4}-\d\d-\d\d(, revised \d{4}-\d\d-\d\d)?\. (In force|Superseded (in part )?by \[[^]]+\]\([^)]+\))\.\*\n\n"
)
COMMITS, COLUMNS = 10, 60
# Of other projects, of the system, and of examples in the pages.
FOREIGN = re.compile(
    r"""(sys|bits|linux|apache|apr)/.*|(stdio|stdlib|string|malloc|math|pthread|signal|unistd|errno|elf|link|dlfcn|sdt|futex)\.h
    |(my|your|main|program|app|prog|game|server|hello|demo|example|test|a|b|x|y|foo)\.(c|h|hpp)""",
    re.X,
)


def names_of_files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True)
    paths = listed.stdout.split() if listed.returncode == 0 else [str(path.relative_to(root)) for path in root.rglob("*.*")]
    return {path.rsplit("/", 1)[-1] for path in paths} | set(paths)


def missing_files(text, known):
    for name in sorted(set(FILE.findall(text))):
        if name.rsplit("/", 1)[-1] not in known and not FOREIGN.fullmatch(name):
            yield name


def missing_names(text, identifiers):
    for code in sorted(set(CODE.findall(text))):
        match = NAME.match(code)
        if match and match[1] not in identifiers | OTHERS:
            yield match[1]


def whats(text):
    for sentence in WHAT.findall(text):
        if not sentence.endswith("?") and not sentence.endswith("|"):
            yield " ".join(sentence.split())[:60]


def whos(text):
    for sentence in WHO.findall(without_code(text)):
        if not sentence.endswith(("?", "|")):
            yield " ".join(sentence.split())[:60]


def comments(text):
    """The comments of a source, without the marks at the start of their lines."""
    return "\n\n".join(re.sub(r"^ *(?:/\*+|\*(?!/)) ?", "", comment, flags=re.M) for comment in COMMENT.findall(text))


def without_code(text):
    """The text of a page without code, comments and the targets of links."""
    text = INDENTED.sub("", FENCED.sub("", text))
    return re.sub(r"\]\([^)]*\)", "]", CODE.sub("`", re.sub(r"<!--.*?-->", "", text, flags=re.S)))


def colons(text):
    """Paragraphs, and items of lists, that have more than one."""
    for paragraph in re.split(r"\n\s*\n", ITEM.sub("\n", without_code(text))):
        if not paragraph.lstrip().startswith(("|", "#")) and len(COLON.findall(paragraph)) > 1:
            yield " ".join(paragraph.split())[:60]


def bad_subjects(subjects):
    for subject in subjects:
        if len(subject) > COLUMNS or not SUBJECT.match(subject):
            yield subject


def subjects_of(root):
    """Of the last commits, or none where this is no checkout."""
    done = subprocess.run(["git", "-C", str(root), "log", "--no-merges", f"-{COMMITS}", "--format=%s"], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def without_body(root):
    """The subjects of those of the last commits that change src and say nothing below their subject."""
    ask = ["git", "-C", str(root), "log", "--no-merges", f"-{COMMITS}", "--format=%s%x00%b%x01", "--", "src"]
    done = subprocess.run(ask, capture_output=True, text=True)
    for commit in done.stdout.split("\x01") if done.returncode == 0 else []:
        subject, _, body = commit.strip().partition("\0")
        if subject and not body.strip():
            yield subject


def read(paths):
    return {path: path.read_text(encoding="utf-8") for path in sorted(paths)}


def complaints(root):
    known = names_of_files(root)
    sources = read(path for folder in ("src", "include", "tests") for path in (root / folder).rglob("*.[ch]"))
    headers = read((root / "include").rglob("*.h*"))
    cards = read([root / "docs/ARCHITECTURE.md", *root.glob("docs/protocols/*.md"), *root.glob("src/*/README.md")])
    pages = read([*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/decisions/*.md")]) | cards
    stems = {name.rsplit(".", 1)[0] for name in known}
    identifiers = stems | set(re.findall(r"\w+", "\n".join([*sources.values(), *headers.values()])))
    for path, text in sources.items():
        for name in missing_files("\n".join(COMMENT.findall(text)), known):
            yield f"{path.relative_to(root)} names {name}, which is not there"
    for path, text in pages.items():
        for name in missing_files("\n".join(CODE.findall(text)), known):
            yield f"{path.relative_to(root)} names {name}, which is not there"
    for path, text in cards.items():
        for name in missing_names(text, identifiers):
            yield f"{path.relative_to(root)} names {name}, which is not there"
    cxx = read((root / "tests").rglob("*.[ch]pp"))
    commented = {path: comments(text) for path, text in (headers | sources | cxx).items()}
    for path, text in (pages | commented).items():
        for sentence in whats(text):
            yield f"{path.relative_to(root)}: name the subject of: {sentence}"
        for sentence in whos(text):
            yield f"{path.relative_to(root)}: say which thread or person it is: {sentence}"
    for path, text in pages.items():
        if path.parent == root / "docs" or path == root / "README.md":
            for paragraph in colons(text):
                yield f"{path.relative_to(root)}: two colons in one paragraph: {paragraph}"
        if path.parent.name == "decisions" and path.name != "README.md" and not STATUS.match(text):
            yield f"{path.relative_to(root)}: its third line is to say `Decided DATE`, and whether it is in force (docs/decisions/README.md)"
    for subject in bad_subjects(subjects_of(root)):
        yield f"the commit `{subject}`: its subject is to be `area: verb object`, at most {COLUMNS} columns"
    for subject in without_body(root):
        yield f"the commit `{subject}` changes src: say in two sentences below its subject why"


def main():
    found = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
