"""The reference of the C interface in Markdown, made of the public header as the manual page tslab(3) is."""

import re

import manual

FOLLOWING = re.compile(rf"^({'|'.join(manual.PARAGRAPHS)}): +", re.M)
NAME = re.compile(r"`[^`]+`|\b(?:tslab|TSLAB)_\w*\w\b(?:\(\))?|\bdocs/\w+\.md\b")
RUN_IN = re.compile(r"^(\w+(?: \w+){0,2}\.) (?=[A-Z\"])")
# What Markdown would take for its own.
SPECIAL = re.compile(r"([\\*<>|\[\]])")
HEAD = """\
# Reference: the C interface

Version {version}. This page is made of the public header, `tslab/tslab.h`, which is the manual; tslab(3) has the same text.
[When to use what](guide.md) is in the guide, and the options of the environment are in [their table](options.md).

```c
#include <tslab/tslab.h>
```

"""


def anchor_of(name):
    return name.removesuffix("()").split(" ")[-1]


class Words:
    """The header's words in Markdown: names that this page explains are links to where it does."""

    def __init__(self, listed):
        self.anchors = {}
        for entry in listed:
            for title in filter(None, entry.title().split(", ")):
                self.anchors.setdefault(anchor_of(title), anchor_of(entry.title().split(", ")[0]))
            for constant in re.findall(r"^ {4}(TSLAB_\w+)(?: = -?\w+)?,?$", entry.code, re.M):
                self.anchors.setdefault(constant, anchor_of(entry.title().split(", ")[0]))

    def line(self, text, here=None):
        out, at = [], 0
        for match in NAME.finditer(text):
            out.append(SPECIAL.sub(r"\\\1", text[at:match.start()]))  # fmt: skip
            at = match.end()
            if match[0].startswith("docs/") and (manual.ROOT / match[0]).is_file():
                out.append(f"[{match[0]}]({match[0].removeprefix('docs/')})")
                continue
            code = match[0] if match[0].startswith("`") else f"`{match[0]}`"
            anchor = self.anchors.get(match[0].strip("`").removesuffix("()"))
            out.append(f"[{code}](#{anchor})" if anchor and anchor != here else code)
        out.append(SPECIAL.sub(r"\\\1", text[at:]))
        return "".join(out)

    def paragraphs(self, text, here=None):
        """Blocks that are indented are code. "Requires:", "Returns:" and their like begin items of a list."""
        for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
            lines = block.split("\n")
            if not block.strip():
                continue
            if all(line.startswith("  ") or not line for line in lines) and not lines[0].lstrip().startswith("*"):
                yield f"```{'c' if ';' in block else 'text'}\n" + "\n".join(line[2:] for line in lines) + "\n```\n"
                continue
            starts = [match.start() for match in FOLLOWING.finditer(block)]
            first, *rest = (block[at:end] for at, end in zip([0, *starts], [*starts, len(block)]))
            if first.strip():
                yield self.line(" ".join(first.split()), here) + "\n"
            if rest:
                yield "".join(self.item(part, here) for part in rest)

    def item(self, part, here):
        tag, _, words = " ".join(part.split()).partition(": ")
        return f"- **{tag}**: {self.line(words, here)}\n"


def page():
    listed = list(manual.entries())
    words = Words(listed)
    introduction = (RUN_IN.sub(r"**\1** ", text) for text in words.paragraphs(manual.introduction()))
    out = [HEAD.format(version=manual.version()), *introduction, "## Objects\n"]
    for entry in listed:
        if chapter := entry.take_chapter():
            out.append(f"## {chapter}\n")
        title, here = entry.title(), None
        if title:
            names = title.split(", ")
            here = anchor_of(names[0])
            others = "".join(f'<a id="{anchor_of(name)}"></a>' for name in names if anchor_of(name) != here)
            out.append(f"### {', '.join(names)} {{#{here}}}\n" + (f"\n{others}\n" if others else ""))
        code = [f"```c\n{entry.code}\n```\n"] if entry.code else []
        text = list(words.paragraphs(entry.text, here))
        out += [*code, *text] if entry.functions() else [*text, *code]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"
