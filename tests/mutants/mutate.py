"""Makes mutants of C sources: copies with one memory order weakened or one comparison changed."""

import bisect
import collections
import dataclasses
import pathlib
import re

ATOMIC_HEADER = "base/atomic.h"

# A comment, string or preprocessor directive is one token, so nothing inside of it is ever changed.
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<directive>^[ \t]*\#(?:/\*.*?\*/|\\.|[^\\\n])*)
      | (?P<literal>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||\S)""",
    re.S | re.M | re.X,
)

ATOMIC = re.compile(r"(load|store|swap|cas|fetch_[a-z]+)_(relaxed|acquire|release|acq_rel|seq_cst)")

# Pointers of types that the macros do not know are loaded and stored by C's own names.
PLAIN = re.compile(r"atomic_\w+_explicit")
PLAIN_ORDERS = {"memory_order_acquire": "memory_order_relaxed", "memory_order_release": "memory_order_relaxed"}

# The orders that are one step weaker, by kind of operation; a swap and a fetch_... are like a cas.
WEAKER = {
    "load": {"seq_cst": ["acquire"], "acquire": ["relaxed"]},
    "store": {"seq_cst": ["release"], "release": ["relaxed"]},
    "cas": {"seq_cst": ["acq_rel"], "acq_rel": ["acquire", "release"], "acquire": ["relaxed"], "release": ["relaxed"]},
}

COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

# What ends the operand before a sign, looking backwards on the same level of brackets.
BEFORE_OR = {"||", "?", ":", ",", ";", "{", "}", "return", "=", "+=", "-=", "|=", "&=", "^="}
BEFORE_AND = BEFORE_OR | {"&&"}

# Checks that the rig relies on; a changed check is no fault of the engine.
CHECKS = {"invariant", "static_assert", "_Static_assert"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: `name` is file:function:n:change, n counts what has the same spelling in the function."""

    name: str
    kind: str  # "order" or "comparison"
    file: str  # relative to src/
    text: str  # of the whole file
    line: int


def tokens_of(text):
    found = (Token(match.lastgroup, match.group(), match.start()) for match in TOKEN.finditer(text))
    return [token for token in found if token.kind != "comment" and token.kind != "directive"]


def closing(tokens, at):
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in "([{") - (tokens[i].text in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"nothing closes the bracket at character {tokens[at].at}")


def functions_of(tokens):
    """(name, first, last) of each function's body: a word, (...) and {...} outside of all braces."""
    i = 0
    name = None
    while i < len(tokens):
        if tokens[i].text == "(":
            name = tokens[i - 1].text
            i = closing(tokens, i)
        elif tokens[i].text == "{":
            end = closing(tokens, i)
            if tokens[i - 1].text == ")":
                yield name, i, end
            i = end
        i += 1


def without_checks(tokens):
    """The tokens of a body, without those inside of checks."""
    kept = []
    i = 0
    while i < len(tokens):
        if tokens[i].text in CHECKS and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            i = closing(tokens, i + 1)
        else:
            kept.append(tokens[i])
        i += 1
    return kept


def operand_before(tokens, at):
    """The index of the first token of the operand before the && or || at `at`."""
    ends = BEFORE_AND if tokens[at].text == "&&" else BEFORE_OR
    depth = 0
    for i in range(at - 1, -1, -1):
        text = tokens[i].text
        depth += (text in ")]") - (text in "([")
        if depth < 0 or (depth == 0 and text in ends):
            return i + 1
    raise ValueError("an operand without a start")


def orders_in(tokens):
    """(token, what the change is called, first and last character that are replaced, by what) of each weakened order."""
    for token in tokens:
        match = ATOMIC.fullmatch(token.text)
        if match:
            operation, order = match.groups()
            for weaker in WEAKER.get(operation, WEAKER["cas"]).get(order, []):
                weak = f"{operation}_{weaker}"
                yield token, f"{token.text} to {weak}", token.at, token.at + len(token.text), weak
        elif token.text in PLAIN_ORDERS:
            weak = PLAIN_ORDERS[token.text]
            yield token, f"{token.text} to {weak}", token.at, token.at + len(token.text), weak


def has_atomics(tokens):
    return any(ATOMIC.fullmatch(token.text) or PLAIN.fullmatch(token.text) for token in tokens)


def comparisons_in(tokens):
    """The same for the comparisons."""
    for i, token in enumerate(tokens):
        end = token.at + len(token.text)
        if token.text in COMPARISONS:
            yield token, f"{token.text} to {COMPARISONS[token.text]}", token.at, end, COMPARISONS[token.text]
        elif token.text in ("&&", "||"):
            yield token, f"first operand of {token.text} dropped", tokens[operand_before(tokens, i)].at, end, ""
        elif token.text == "!":
            yield token, "! dropped", token.at, end, ""


def mutants_of(file, text):
    """All mutants of a source; comparisons only where a function has an atomic operation."""
    tokens = tokens_of(text)
    lines = [match.start() for match in re.finditer("\n", text)]
    for function, first, last in functions_of(tokens):
        body = without_checks(tokens[first : last + 1])
        kinds = [("order", orders_in(body))]
        if has_atomics(body):
            kinds.append(("comparison", comparisons_in(body)))
        numbers = collections.defaultdict(dict)
        for kind, changes in kinds:
            for token, change, start, end, new in changes:
                of_spelling = numbers[token.text]
                n = of_spelling.setdefault(token.at, len(of_spelling) + 1)
                name = f"{file}:{function}:{n}:{change}"
                yield Mutant(name, kind, file, text[:start] + new + text[end:], bisect.bisect(lines, start) + 1)


def mutants_in(directory):
    """All mutants of the sources below a directory, by name."""
    mutants = {}
    for path in sorted(pathlib.Path(directory).rglob("*.[ch]")):
        file = str(path.relative_to(directory))
        if file != ATOMIC_HEADER:
            for mutant in mutants_of(file, path.read_text()):
                if mutant.name in mutants:
                    raise ValueError(f"two mutants are called {mutant.name}: a function is defined twice")
                mutants[mutant.name] = mutant
    return mutants


def with_all_orders(header):
    """atomic.h with the weaker operations that the engine has no use for, each made of its seq_cst form."""
    defined = set(re.findall(r"#define (\w+)\(", header))

    def more(match):
        definition = match.group()
        operation = match.group(1)
        weaker = []
        for order in ("acq_rel", "acquire", "release", "relaxed"):
            if f"{operation}_{order}" not in defined and operation not in ("load", "store"):
                weaker.append(definition.replace("seq_cst", order))
        return "\n".join([definition, *weaker])

    return re.sub(r"^#define (\w+)_seq_cst\((?:\\\n|.)*", more, header, flags=re.M)
