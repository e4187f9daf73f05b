"""Profiles of real programs: the first places that `tslab profile` names are the programs' own, not malloc's wrappers."""

import glob
import os
import re
import shutil
import subprocess

import long
import programs
from run import PYTHON, WORK, Runner, entry, expect, need

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/tslab")
# What these programs, their libraries and their languages allocate with.
WRAPPER = re.compile(
    r"(z(m|c|re)alloc|ngx_(p|pn|pc|mem)?(alloc|calloc|align)|palloc|repalloc|MemoryContextAlloc|AllocSet|x(m|c|re)alloc|xstrdup|operator new"
    r"|(m|c|re)alloc|str[n]?dup|CRYPTO_\w*(alloc|dup)|void std::|std::|__gnu_cxx::|_ZN?St|<?(alloc|core|std)::|__rd?l?_)"
)


class Profiled(Runner):
    """Runs programs with a profile of each."""

    def environment(self, preload, extra=None):
        return super().environment(preload, {"TSLAB_PROFILE": f"16K,{self.directory}/profiles/%p", **(extra or {})})


def shown(file, *words):
    """The places that the command shows, and all of its words."""
    result = subprocess.run([PYTHON, "-B", TOOL, "profile", file, "--kind", "allocated", "--top", "5", *words], capture_output=True,
                            text=True, check=False, env=dict(os.environ, COLUMNS="1000"))
    expect(result.returncode == 0 and not result.stderr, f"tslab profile {file}: {result.stderr}")
    return re.findall(r"^ *[\d.,]+ +[\d.]+ +[\d,]+ +\d+ +(?:\d+|too few samples) +(\S.*?)\s*$", result.stdout, re.MULTILINE), result.stdout


def program_of(file):
    """The first file that was mapped."""
    with open(file, encoding="utf-8", errors="replace") as text:
        found = re.search(r"^[0-9a-f]+-[0-9a-f]+ .* (/.*)$", text.read(), re.MULTILINE)
    return os.path.basename(found[1]) if found else ""


def check_places(runner, work, name, own, least=3):
    """Of the largest profile of a program whose file has such a name, the first five places: none allocates for others,
    and so many are of the program itself. Some function that does was skipped."""
    runner = Profiled(runner.library, runner.directory)
    os.mkdir(runner.path("profiles"))
    os.chmod(runner.path("profiles"), 0o1777)
    work(runner)
    files = [file for file in glob.glob(runner.path("profiles", "*")) if re.match(name, program_of(file))]
    expect(files, f"{name} has written no profile")
    places, said = shown(max(files, key=os.path.getsize))
    wrong = [place for place in places if WRAPPER.match(place)]
    ours = [place for place in places if re.match(own, place)]
    expect(len(places) == 5 and not wrong and len(ours) >= least, f"the first places of {name} are not its own:\n{said}")
    skipped = said.partition("Skipped, because they allocate for others: ")[2].split("\n")[0].split(", ")
    expect(not set(skipped) & set(places), f"{name}: what was skipped is a place all the same:\n{said}")
    return skipped


@entry
def places_redis(runner):
    check_places(runner, programs.redis, "redis-", r"[a-z]\w+")


@entry
def places_nginx(runner):
    check_places(runner, programs.nginx, "nginx", r"(nginx\+0x\w+ < )?ngx_")


@entry
def places_git(runner):
    """It is stripped, and exports nothing: its wrappers have no names."""
    skipped = check_places(runner, programs.git, "git", r"git\+0x|(in|de)flate|libz", least=5)
    expect(any(name.startswith("git+0x") for name in skipped), f"no wrapper of git was found, but {skipped}")


@entry
def places_cxx(runner):
    def work(profiled):
        profiled.run([need("g++", "g++"), "-g", "-O2", "-std=c++17", "-o", "cxx", os.path.join(WORK, "work.cpp")], preload=False)
        profiled.run([profiled.path("cxx")])

    check_places(runner, work, "cxx", r"grow|main|count_words|operator\(\)|weigh")


@entry
def places_rust(runner):
    def work(profiled):
        os.environ["CARGO_PROFILE_RELEASE_DEBUG"] = "1"
        long.rust(profiled)

    check_places(runner, work, "work", r"work::", least=4)


@entry
def places_postgres(runner):
    binaries = max(glob.glob("/usr/lib/postgresql/*/bin"), default="")
    need(os.path.join(binaries, "postgres"), "postgresql")
    user = "postgres" if os.getuid() == 0 else None
    cluster = runner.path("cluster")

    def work(profiled):
        os.chmod(profiled.directory, 0o755)
        os.mkdir(cluster)
        shutil.chown(cluster, user or os.getuid())
        profiled.run([f"{binaries}/initdb", "-D", cluster, "-A", "trust", "-N", "-E", "UTF8"], preload=False, user=user)
        statements = "create table t as select i, md5(i::text) as text from generate_series(1, 50000) as i; create index on t (text);" \
                     "select count(*) from t as a join t as b using (text); select count(*) from (select array_agg(i) from t group by i % 5000) as s;"
        profiled.run([f"{binaries}/postgres", "--single", "-D", cluster, "postgres"], user=user, input=statements.replace(";", "\n"))

    check_places(runner, work, "postgres", r"(postgres\+0x\w+ < )?[A-Za-z]\w+")


