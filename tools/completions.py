#!/usr/bin/python3 -B
"""Makes the completions of the commands `tslab` and `tslab-run` for bash, zsh and fish, of the parsers and the table of options. The
parsers need rich.

usage: completions.py DIRECTORY    the files get the places below DIRECTORY that they have below PREFIX/share
"""

import argparse
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILES = re.compile(r"FILE|PATH|DIRECTORY")


class Argument:
    """A flag, or what stands where no flag does: what its value may be."""

    def __init__(self, action, parser, words):
        self.names, self.place = action.option_strings, str(action.metavar or action.dest)
        self.help = " ".join(parser._get_formatter()._expand_help(action).split()) if action.help else ""
        self.has_value, self.may_lack_value = action.nargs != 0, action.nargs == "?"
        self.words = tuple(map(str, action.choices or ())) or words.get(action.dest, ())
        self.is_file, self.is_program = bool(FILES.search(self.place)), action.nargs == argparse.REMAINDER


class Command:
    def __init__(self, name, text, parser, words):
        arguments = [Argument(action, parser, words) for action in parser._actions]
        self.name, self.help, self.flags = name, text, [one for one in arguments if one.names]
        self.place = next((one for one in reversed(arguments) if not one.names), None)


def commands():
    sys.path.insert(0, str(ROOT / "tools"))
    from tslab_tools import cli, option_table

    words = {row.name: tuple(row.values.split(", ")) for row in option_table.OPTIONS if row.form == "WORD"}
    of_run = {name: tuple(re.sub("-[A-Z]+$", "-", word) for word in found) for name, found in words.items()}
    inside = next(action for action in cli.TSLAB.parser()._actions if isinstance(action, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in inside._choices_actions}
    return [Command(name, helps[name], parser, of_run if name == "run" else {}) for name, parser in inside.choices.items()]


def bash(found):
    yield "# Completions of tslab and tslab-run for bash."
    yield "_tslab_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\"); }"
    yield "_tslab_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); }"
    yield "# The program at a place of the line, and what completes its words."
    yield "_tslab_program() {"
    yield "    if declare -F _command_offset >/dev/null; then _command_offset \"$1\""
    yield "    elif [ \"$COMP_CWORD\" = \"$1\" ]; then mapfile -t COMPREPLY < <(compgen -c -- \"$word\")"
    yield "    else _tslab_files; fi"
    yield "}"
    yield "_tslab() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at"
    yield "    COMPREPLY=()"
    names = " ".join(command.name for command in found)
    yield f"    if [ \"$COMP_CWORD\" = 1 ]; then _tslab_words '{names} --help --version'; return; fi"
    yield "    if [ \"$word\" = '=' ]; then word=; elif [ \"$before\" = '=' ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi"
    runs = [command.name for command in found if command.place and command.place.is_program]
    yield f"    case ${{COMP_WORDS[1]}} in {'|'.join(runs)})"
    yield "        for ((at = 2; at < COMP_CWORD; at++)); do"
    yield "            if [ \"${COMP_WORDS[at]}\" = -- ]; then _tslab_program $((at + 1)); return; fi"
    yield "        done"
    yield "    esac"
    yield "    case ${COMP_WORDS[1]}:$before in"
    for command in found:
        for flag in command.flags:
            if flag.has_value and not flag.may_lack_value:
                pattern = "|".join(f"{command.name}:{name}" for name in flag.names)
                does = f"_tslab_words '{' '.join(flag.words)}'" if flag.words else "_tslab_files" if flag.is_file else ":"
                yield f"    {pattern}) {does}; return ;;"
    yield "    esac"
    yield "    case ${COMP_WORDS[1]}:$word in"
    for command in found:
        flags = " ".join(name for flag in command.flags for name in flag.names)
        place = command.place
        yield f"    {command.name}:-*) _tslab_words '{flags}{' --' if place and place.is_program else ''}' ;;"
        if place and place.is_program:
            yield f"    {command.name}:*) mapfile -t COMPREPLY < <(compgen -c -- \"$word\") ;;"
        elif place and place.words:
            yield f"    {command.name}:*) _tslab_words '{' '.join(place.words)}' ;;"
        elif place and place.is_file:
            yield f"    {command.name}:*) _tslab_files ;;"
    yield "    esac\n}"
    yield "_tslab_run() {  # the same as tslab run, and its words are as long"
    yield "    COMP_LINE=${COMP_LINE/-/ }"
    yield "    COMP_WORDS=(tslab run \"${COMP_WORDS[@]:1}\")"
    yield "    COMP_CWORD=$((COMP_CWORD + 1))"
    yield "    _tslab"
    yield "}"
    yield "complete -F _tslab tslab"
    yield "complete -F _tslab_run tslab-run"


def zsh_flag(flag):
    text = re.sub(r"([\[\]:\\])", r"\\\1", flag.help)
    names = flag.names[0] if len(flag.names) == 1 else "{" + ",".join(flag.names) + "}"
    if not flag.has_value:
        return f"{names}{shlex.quote(f'[{text}]')}"
    does = f"({' '.join(flag.words)})" if flag.words else "_files" if flag.is_file else " "
    equal = "=" if len(flag.names) == 1 else ""
    name = re.sub(r"([\[\]:\\])", r"\\\1", flag.place)
    return f"{names}{shlex.quote(f'{equal}[{text}]{chr(58) * (1 + flag.may_lack_value)}{name}:{does}')}"


def zsh(found):
    yield "#compdef tslab tslab-run"
    yield "# Completions of tslab and tslab-run for zsh."
    yield "if [[ $service = tslab-run ]]; then\n    words=(tslab run ${(@)words[2,-1]})\n    (( CURRENT++ ))\nfi"
    yield "local -a commands=("
    yield from (f"    {shlex.quote(f'{command.name}:{command.help}')}" for command in found)
    yield ")"
    yield "if (( CURRENT == 2 )); then"
    yield "    _describe command commands\n    return\nfi"
    yield "shift words\n(( CURRENT-- ))"
    yield "case $words[1] in"
    for command in found:
        place = command.place
        rest = []
        if place and place.is_program:
            rest = ["'(-)1:program:_command_names -e'", "'*::arguments:_normal'"]
        elif place:
            rest = [shlex.quote(f"*:{place.place}:{'_files' if place.is_file else '_pids' if 'PID' in place.place else ' '}")]
        yield f"{command.name})\n    _arguments " + " \\\n        ".join([*map(zsh_flag, command.flags), *rest]) + " ;;"
    yield "esac"


def fish(found):
    yield "# Completions of tslab for fish."
    yield "complete -c tslab -f"
    yield "complete -c tslab -n __fish_use_subcommand -l version -d 'show the version'"
    for command in found:
        yield f"complete -c tslab -n __fish_use_subcommand -a {command.name} -d {shlex.quote(command.help)}"
    for command in found:
        here = f"complete -c tslab -n '__fish_seen_subcommand_from {command.name}'"
        for flag in command.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            takes = ""
            if flag.has_value and not flag.may_lack_value:
                takes = " -r -F" if flag.is_file else f" -x -a {shlex.quote(' '.join(flag.words))}" if flag.words else " -x"
            yield f"{here} {names}{takes} -d {quoted_for_fish(flag.help)}"
        if command.place and command.place.is_program:
            yield f"{here} -x -a '(__fish_complete_subcommand --fcs-skip=2)'"
        elif command.place and command.place.is_file:
            yield f"{here} -F"
    yield "complete -c tslab-run -x -a '(complete -C \"tslab run \"(string join \" \" -- (commandline -opc)[2..] (commandline -ct)))'"


def quoted_for_fish(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    directory = parser.parse_args().directory
    found = commands()
    of_bash, of_fish = ("\n".join(shell(found)) + "\n" for shell in (bash, fish))
    # bash and fish look for a file by the name of the command.
    places = {
        "bash-completion/completions/tslab": of_bash, "bash-completion/completions/tslab-run": of_bash,
        "fish/vendor_completions.d/tslab.fish": of_fish, "fish/vendor_completions.d/tslab-run.fish": of_fish,
        "zsh/site-functions/_tslab": "\n".join(zsh(found)) + "\n",
    }  # fmt: skip
    for name, text in places.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
