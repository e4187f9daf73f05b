"""Makes the completions, and has each shell that is here read them and complete lines.

usage: completions.py
"""

import os
import pathlib
import shutil
import sys

from ways import SOURCE, empty_directory, expect, output_of, skip

sys.path.insert(0, str(SOURCE / "tools"))
import options  # noqa: E402

# A line, and some words that complete its last one, before others.
LINES = (
    ("tslab ", {"run", "top", "stat", "profile", "export"}),
    ("tslab st", {"stat"}),
    ("tslab run --purge-d", {"--purge-delay-ms"}),
    ("tslab run --purge ", {"adaptive", "eager", "never"}),
    ("tslab top --sort ep", {"epochs"}),
    ("tslab profile --kind pe", {"peak"}),
    ("tslab profile heap.", {"heap.1", "heap.2"}),
    ("tslab profile --base heap.", {"heap.1", "heap.2"}),
    ("tslab run --ch", {"--checked"}),
    ("tslab run -- tslab-helpe", {"tslab-helper"}),
    ("tslab-run --ch", {"--checked"}),
    ("tslab-run --purge ", {"adaptive", "eager", "never"}),
    ("tslab-run tslab-helpe", {"tslab-helper"}),
    ("tslab-run --checked -- tslab-helpe", {"tslab-helper"}),
)
ALONE = {"tslab st", "tslab run --ch", "tslab run --purge-d", "tslab top --sort ep", "tslab-run --ch"}
BASH = """
source "$1"
COMP_LINE=$2
read -ra COMP_WORDS <<< "$2"
if [[ $2 == *" " ]]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "${COMP_WORDS[0]}" | sed "s/.*-F \\([^ ]*\\) .*/\\1/")
$function
printf "%s\\n" "${COMPREPLY[@]}"
"""


def of_bash(root, line):
    return output_of("bash", "-c", BASH, "bash", root / "bash-completion/completions/tslab", line).splitlines()


def of_fish(root, line):
    script = f"source {root}/fish/vendor_completions.d/tslab.fish; complete -C $argv[1]"
    return [found.partition("\t")[0] for found in output_of("fish", "--no-config", "-c", script, line, XDG_DATA_HOME=str(root)).splitlines()]


def check_lines(complete, root):
    for line, wanted in LINES:
        found = {word.strip() for word in complete(root, line)}
        expect(wanted <= found and (line not in ALONE or found == wanted), f"{complete.__name__}: '{line}' has {sorted(found)}")


def check_flags(root):
    """Each shell has each flag of each option."""
    for name in ("bash-completion/completions/tslab", "zsh/site-functions/_tslab", "fish/vendor_completions.d/tslab.fish"):
        text = (root / name).read_text()
        for option in options.options():
            flag = ("-l " if "fish" in name else "--") + option.name.replace("_", "-")
            expect((flag in text) == (option.when != "FOR_TESTS"), f"{name} and the option {option.name}")


def main():
    try:
        import rich  # noqa: F401
    except ImportError:
        skip("the command's parsers need rich")
    with empty_directory() as root:
        output_of(SOURCE / "tools/completions.py", root)
        check_flags(root)
        for name in ("heap.1", "heap.2"):
            pathlib.Path(name).write_text("")
        pathlib.Path("bin").mkdir()
        pathlib.Path("bin/tslab-helper").write_text("#!/bin/sh\n")
        pathlib.Path("bin/tslab-helper").chmod(0o755)
        os.environ["PATH"] = f"{root}/bin:{os.environ['PATH']}"
        check_lines(of_bash, root)
        if shutil.which("fish"):
            check_lines(of_fish, root)
        if shutil.which("zsh"):
            output_of("zsh", "-n", root / "zsh/site-functions/_tslab")


main()
