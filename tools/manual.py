#!/usr/bin/python3 -B
"""Makes the manual pages: tslab(3) and a page of each function of the public header, tslab-malloc(1) of the table of options, and tslab(1) of the command's own
help, where Python has rich, which that needs.
"""

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import re
import textwrap

import options
from version import version

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = (ROOT / "include/tslab/tslab.h").read_text(encoding="utf-8")

TOP_COMMENT = re.compile(r"^/\*(.*?)\*/", re.M | re.S)
PARAGRAPHS = ("Requires", "Returns", "Threads", "Cost")


def date():
    """Of the release, so that the same sources give the same page."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## \[\d[^\]]*\] - (\d{4}-\d\d-\d\d)", changes, re.M)
    return found[1] if found else "undated"


def escape(text):
    for raw, escaped in (("\\", "\\e"), ("-", "\\-"), ("`", ""), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(raw, escaped)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def filled(text):
    """Each sentence begins a line, as the language of the pages expects."""
    sentences = re.split(r"(?<=[.?!:;)])\s+(?=[A-Z({])|(?<=[.])\s+(?=\S)", " ".join(text.split()))
    lines = [textwrap.fill(escape(sentence), 78, break_long_words=False, break_on_hyphens=False) for sentence in sentences if sentence]
    return re.sub(r"^([.'])", r"\\&\1", "\n".join(lines), flags=re.M)


def head(name, section, purpose):
    title = f'.TH {name.partition(",")[0].upper()} {section} {date()} "tslab {version()}" "{"Library Functions Manual" if section == 3 else "User Commands"}"\n'
    line = f"{name} \\- {escape(purpose)}"
    return f"{title}.SH NAME\n{textwrap.fill(line, 78, break_long_words=False, break_on_hyphens=False)}\n"


def verbatim(text):
    return f".PP\n.nf\n.RS 4\n{escape(text.rstrip())}\n.RE\n.fi\n"


def prose(text):
    """Paragraphs of a comment. Those that are indented, or that hold a table, stay as they are."""
    out = []
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        if not block.strip():
            continue
        lines = block.split("\n")
        if all(line.startswith("  ") or not line for line in lines) and not lines[0].lstrip().startswith("*"):
            out.append(verbatim("\n".join(line[2:] for line in lines)))
            continue
        out.append(paragraphs(lines))
    return "".join(out)


def paragraphs(lines):
    out, words, tag = [], [], None

    def flush():
        if words:
            text = filled(" ".join(words))
            out.append(f".TP\n.B {tag}:\n{text}\n" if tag else f".PP\n{text}\n")

    for line in lines:
        match = re.match(rf"({'|'.join(PARAGRAPHS)}): +(.*)", line)
        if match:
            flush()
            tag, words = match[1], [match[2]]
        else:
            words.append(line.strip())
    flush()
    return "".join(out)


def comment_text(body):
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in f" * {body.strip()}".split("\n"))


def declarations(code):
    """What a reader of C wants to see of the code between two comments."""
    code = re.sub(r"^#.*(\\\n.*)*$", "", code, flags=re.M)
    code = re.sub(r'^extern "C" \{$|^\}$(?=\n\n*\Z)', "", code, flags=re.M)
    code = re.sub(r"\s*__attribute__\(\(.*?\)\)(?=;)", "", code, flags=re.S)
    code = re.sub(r"\bTSLAB_API ", "", code)
    return re.sub(r"\n{2,}", "\n\n", code).strip()


@dataclasses.dataclass
class Entry:
    text: str
    code: str

    def functions(self):
        names = re.findall(r"\b(tslab_\w+)\(", re.sub(r"/\*.*?\*/|\{.*?\n\}", "", self.code, flags=re.S))
        return list(dict.fromkeys(names))

    def title(self):
        if names := self.functions():
            return ", ".join(f"{name}()" for name in names)
        kinds = re.findall(r"^(?:typedef )?((?:enum|struct) tslab_\w+)|^\} (tslab_\w+);", self.code, re.M)
        return ", ".join(kind or typedef for kind, typedef in kinds)

    def take_chapter(self):
        """The title of the chapter that begins here, taken off the text: "Units of work." and an empty line. Else nothing."""
        match = re.match(rf"(\w+(?: \w+){{0,2}})\.(?:\n\n(?!{'|'.join(PARAGRAPHS)})| (?=They))", self.text)
        if match is None:
            return None
        self.text = self.text[match.end():]  # fmt: skip
        return match[1]


def entries():
    """The comments at the left margin, each with the code that follows it."""
    start = HEADER.index("#define TSLAB_API")
    body = HEADER[HEADER.index("\n", start):HEADER.rindex("#ifdef __cplusplus")]  # fmt: skip
    comments = list(TOP_COMMENT.finditer(body))
    for at, comment in enumerate(comments):
        end = comments[at + 1].start() if at + 1 < len(comments) else len(body)
        yield Entry(comment_text(comment[1]), declarations(body[comment.end():end]))  # fmt: skip


def introduction():
    """The header's own comment, without its title."""
    return comment_text(TOP_COMMENT.match(HEADER)[1]).partition("\n\n")[2]


def function_page(entry):
    """Of an entry with functions, whose chapter is taken off: the name of the page, its other names, its text."""
    name, *others = entry.functions()
    purpose = re.match(r".*?(?=[.:](\s|$)|$)", " ".join(entry.text.split()))[0]
    named = set(re.findall(r"\btslab_\w+", entry.text)) & FUNCTIONS - set(entry.functions())
    out = [head(", ".join([name, *others]), 3, purpose[0].lower() + purpose[1:]), ".SH LIBRARY\n" + LIBRARY]
    out += [".SH SYNOPSIS\n", verbatim("#include <tslab/tslab.h>\n\n" + entry.code), ".SH DESCRIPTION\n", prose(entry.text)]
    also = [*sorted(named), "tslab"]
    out.append(".SH SEE ALSO\n" + ",\n".join(f".BR {escape(function)} (3)" for function in also) + "\n")
    return name, others, "".join(out)


LIBRARY = "libtslab (\\-ltslab), or libtslab\\-malloc (\\-ltslab\\-malloc)\n"
FUNCTIONS = {name for entry in entries() for name in entry.functions()}


def library_pages():
    """tslab(3), and the pages of the functions: file name -> text."""
    out = [head("tslab", 3, "memory allocator with epochs"), ".SH LIBRARY\n" + LIBRARY]
    # The first paragraph tells of the header.
    out += [".SH SYNOPSIS\n", verbatim("#include <tslab/tslab.h>"), ".SH DESCRIPTION\n", prose(introduction().partition("\n\n")[2])]
    out.append(".SH FUNCTIONS\n.PP\nEach function has a page of its own name, too.\n")
    pages = {}
    for entry in entries():
        if chapter := entry.take_chapter():
            out.append(f".SH {chapter.upper()}\n")
        elif title := entry.title():
            out.append(f".SS {escape(title)}\n")
        code = verbatim(entry.code) if entry.code else ""
        out += [code, prose(entry.text)] if entry.functions() else [prose(entry.text), code]
        if entry.functions():
            name, others, text = function_page(entry)
            pages |= {f"man3/{name}.3": text} | {f"man3/{other}.3": f".so man3/{name}.3\n" for other in others}
    out.append(".SH SEE ALSO\n.BR tslab\\-malloc (1),\n.BR malloc (3)\n")
    return {"man3/tslab.3": "".join(out)} | pages


def option_text(option):
    """In sentences."""
    default = f"Default: {option.default()}. " if option.default() else ""
    when = "A program can set it at any time." if option.when == "ANY_TIME" else "Read at the start."
    return f"{option.doc[0].upper()}{option.doc[1:]}. Values: {option.range()}. {default}{when}"


def dropin_page():
    out = [head("tslab-malloc", 1, "run a program with tslab as its malloc")]
    out.append(".SH SYNOPSIS\n.B tslab\\-run\n.RI [ options ]\n.RB [ \\-\\- ]\n.I program\n.RI [ argument ...]\n.PP\n")
    out.append("LD_PRELOAD=libtslab\\-malloc.so\n.I program\n.RI [ argument ...]\n")
    out.append(".SH DESCRIPTION\n" + prose("""\
tslab-run runs a program in its own place, with libtslab-malloc.so before the other entries of LD_PRELOAD. The library serves malloc,
free and their family, and the C++ operators new and delete, of the program and of every program that it starts. Freed memory serves
any size and any thread, and goes back to the system by a policy of its own.

A program that is linked statically, or that runs with more rights than its user, ignores LD_PRELOAD.
"""))
    out.append(".SH OPTIONS\n.TP\n.B \\-\\-checked\n" + filled("Preloads libtslab-malloc-checked.so, which ends the program at double and wild frees, "
               "at writes beyond the end of an object, and at writes after its free.") + "\n")
    out.append(".TP\n.B \\-\\-library=PATH\n" + filled("The drop-in library that is preloaded, also in TSLAB_LIBRARY.") + "\n")
    out.append(".TP\n.B \\-\\-env\n" + filled("Prints the environment, as for a systemd unit, and runs nothing.") + "\n")
    out.append(".TP\n.B \\-\\-NAME=VALUE\n" + filled("An option of the library, which is asked whether it takes the value before the program "
               "starts: --purge-delay-ms=0 is TSLAB_PURGE_DELAY_MS=0. --stats and --export alone mean 1, --profile alone "
               "512K, and a profile goes to %e.%p.heap if there is no FILE.") + "\n")
    out.append(".SH ENVIRONMENT\n" + prose("""\
The library reads these once, when it starts. Numbers may end in K, M, G or T (1,024 and its powers). TSLAB_OPTIONS holds several at
once: name=value,name=value. An unknown option, or a value out of range, is reported once on stderr and ignored. Setuid programs
ignore all.
"""))
    for option in options.options():
        if option.when == "FOR_TESTS":
            continue
        out.append(f".TP\n.B TSLAB_{option.name.upper()}\n{filled(option_text(option))}\n")
    out.append(".SH DIAGNOSTICS\n" + prose("""\
A misuse of memory ends the program with one line on stderr, which names the process, the misuse and the address, and with SIGABRT.
"""))
    out.append(".SH EXIT STATUS\n" + prose("""\
That of the program. tslab-run itself: 2 for a wrong call, 127 if the library or the program is not there, 126 if the program cannot be
run.
"""))
    out.append(".SH EXAMPLES\n" + verbatim("tslab-run redis-server\ntslab-run --stats python3 job.py\ntslab-run --purge-delay-ms=0 --checked ./server"))
    out.append(".SH SEE ALSO\n.BR tslab (3),\n.BR malloc (3),\n.BR ld.so (8)\n")
    return "".join(out)


def command_options(parser):
    """The arguments of a parser, as terms with their texts."""
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        term = formatter._format_action_invocation(action)
        text = " ".join(formatter._expand_help(action).split()) if action.help else ""
        yield f".TP\n.B {escape(term)}\n{filled(text)}\n"


def command_page():
    from tslab_tools import cli

    top = cli.TSLAB.parser()
    commands = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    out = [head("tslab", 1, "run programs on tslab, and see their memory")]
    out.append(".SH SYNOPSIS\n.B tslab\n.I command\n.RI [ option ...]\n.SH DESCRIPTION\n" + prose(cli.__doc__))
    out.append(".SH COMMANDS\n")
    for name, command in commands.choices.items():
        out.append(f".SS {escape(name)}\n{prose(command.description or '')}")
        usage = " ".join(command.format_usage().removeprefix("usage: ").split())
        out.append(f".PP\n{filled(usage)}\n" + "".join(command_options(command)))
        out.append(verbatim(command.epilog) if command.epilog else "")
    out.append(".SH EXAMPLES\n" + verbatim("\n".join(line[2:] for line in cli.EXAMPLES.splitlines()[1:])))
    out.append(".SH SEE ALSO\n.BR tslab\\-malloc (1),\n.BR tslab (3)\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    args = parser.parse_args()
    pages = library_pages() | {"man1/tslab-malloc.1": dropin_page(), "man1/tslab-run.1": ".so man1/tslab-malloc.1\n"}
    if importlib.util.find_spec("rich"):
        os.environ["COLUMNS"] = "80"
        pages["man1/tslab.1"] = command_page()
    for name, text in pages.items():
        path = args.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", text, flags=re.M), encoding="utf-8")


if __name__ == "__main__":
    main()
