"""The programs of the quick set."""

import hashlib
import os
import signal
import subprocess
import time

from run import PYTHON, WORK, Failed, await_condition, entry, expect, free_port, need


@entry
def bash(runner):
    """Functions, arrays, substitutions, pipelines and many forks."""
    runner.same([need("bash", "bash"), os.path.join(WORK, "work.sh")])


@entry
def python(runner):
    """Object graphs, json, sqlite3, threads and forked worker processes, every object on malloc."""
    need(PYTHON, "python3")
    result = runner.same([PYTHON, "-B", os.path.join(WORK, "work.py")],
                         extra={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    expect(result.endswith("done\n"), "the script did not come to its end")


@entry
def perl(runner):
    """Hashes, regular expressions, sorting, closures, forks."""
    result = runner.same([need("perl", "perl"), os.path.join(WORK, "work.pl")])
    expect(result.endswith("done\n"), "the script did not come to its end")


@entry
def git(runner):
    """200 commits, gc, fsck, clone. Commits are named by their content, so both runs must come to the same name."""
    program = need("git", "git")
    identity = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    for role in ("AUTHOR", "COMMITTER"):
        identity.update({f"GIT_{role}_NAME": "A Name", f"GIT_{role}_EMAIL": "name@example.org",
                         f"GIT_{role}_DATE": "2001-02-03T04:05:06Z"})
    names = []
    for preload in (False, True):
        place = runner.path(f"repository-{preload}")

        def run(*arguments, preload=preload, place=place):
            return runner.run([program, *arguments], preload=preload, extra=identity, cwd=place)

        os.mkdir(place)
        run("init", "-q", "-b", "main", ".")
        run("config", "gc.auto", "0")
        for number in range(200):
            with open(os.path.join(place, f"file-{number % 20}"), "a", encoding="utf-8") as file:
                file.writelines(f"line {number * 31 + i} of commit {number}\n" for i in range(number % 50 + 1))
            run("add", "-A")
            run("commit", "-q", "-m", f"Commit {number}")
        run("gc", "-q", "--aggressive", "--prune=now")
        run("fsck", "--full", "--strict")
        run("clone", "-q", "--no-local", place, os.path.join(place, "clone"))
        run("-C", "clone", "fsck", "--full")
        log = run("-C", "clone", "log", "--stat", "--format=%H %s")
        expect(log.count("Commit ") == 200, "the clone has not all 200 commits")
        names.append(run("rev-parse", "HEAD") + hashlib.sha256(log.encode()).hexdigest())
    expect(names[0] == names[1], f"the commits differ: {names}")


def compile_and_run(runner, compiler, source, *options):
    """Compiles with and without the library: the same code must come out, and it must run on the library."""
    code = []
    for preload in (False, True):
        program = runner.path("program")
        runner.run([compiler, *options, "-frandom-seed=1", "-o", program, os.path.join(WORK, source)], preload=preload)
        with open(program, "rb") as file:
            code.append(file.read())
    expect(code[0] == code[1], "the compiler made other code under the library")
    return runner.same([runner.path("program")])


@entry
def gcc(runner):
    result = compile_and_run(runner, need("gcc", "gcc"), "work.c", "-O2", "-g", "-Wall")
    expect(result.endswith("done\n"), "the program did not come to its end")


@entry
def gxx(runner):
    result = compile_and_run(runner, need("g++", "g++"), "work.cpp", "-std=c++17", "-O1", "-Wall")
    expect(result.endswith("done\n"), "the program did not come to its end")


@entry
def sqlite3(runner):
    """100,000 rows, indexes, a sort that does not fit the cache, deletions, vacuum and a check of all of it."""
    program = need("sqlite3", "sqlite3")
    with open(os.path.join(WORK, "work.sql"), encoding="utf-8") as file:
        statements = file.read()
    results = []
    for preload in (False, True):
        database = runner.path(f"{preload}.db")
        results.append(runner.run([program, "-batch", "-bail", database], preload=preload, input=statements))
        results[-1] += runner.run([program, database, "pragma integrity_check; select count(*), sum(number) from rows"],
                                  preload=preload)
    expect(results[0] == results[1], f"the results differ: {results}")
    expect(results[1].count("ok\n") == 2, f"the database is damaged: {results[1]}")


class Redis:
    """A server, and questions to it."""

    def __init__(self, runner):
        self.runner = runner
        self.client = need("redis-cli", "redis-tools")
        self.socket = runner.path("socket")
        self.command = [need("redis-server", "redis-server"), "--port", "0", "--unixsocket", self.socket, "--dir", runner.directory,
                        "--save", "", "--appendonly", "no", "--enable-debug-command", "local", "--loglevel", "warning", "--io-threads", "2"]

    def ask(self, *words):
        answer = self.runner.run([self.client, "-s", self.socket, *words], preload=False)
        expect(not answer.startswith("ERR"), f"redis says {answer}")
        return answer.strip()

    def start(self):
        await_condition(lambda: os.path.exists(self.socket) and subprocess.run(
            [self.client, "-s", self.socket, "ping"], capture_output=True, check=False).stdout == b"PONG\n", "for redis to answer", 20)

    def figure(self, section, name):
        line = next(line for line in self.ask("info", section).splitlines() if line.startswith(name + ":"))
        return line.split(":")[1].strip()


@entry
def redis(runner):
    """A server under load, a snapshot by a forked child meanwhile, and a second server that reads the snapshot."""
    benchmark = need("redis-benchmark", "redis-tools")
    server = Redis(runner)
    ask, start, command, socket = server.ask, server.start, server.command, server.socket

    def figure(name):
        return server.figure("persistence", name)

    with runner.server(command) as process:
        start()
        runner.run([benchmark, "-s", socket, "-q", "-n", "8000", "-r", "8000", "-d", "200", "-P", "8", "-c", "20",
                    "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100,mset"])
        ask("eval", "for i = 1, 30000 do redis.call('set', 'key:' .. i, string.rep('v', i % 700)) "
                    "redis.call('hset', 'hash:' .. i % 300, 'field:' .. i, i) end return 1", "0")
        # Writes go on while the child saves, so that pages are copied and memory comes and goes in the parent.
        ask("bgsave")
        with subprocess.Popen([benchmark, "-s", socket, "-q", "-n", "10000", "-r", "5000", "-t", "set"],
                              env=runner.environment(True), stdout=subprocess.DEVNULL) as load:
            expect(load.wait() == 0, "the load during the snapshot failed")
        await_condition(lambda: figure("rdb_bgsave_in_progress") == "0", "for the snapshot")
        expect(figure("rdb_last_bgsave_status") == "ok", "the snapshot failed: the forked child did not end well")
        ask("bgsave")
        await_condition(lambda: figure("rdb_bgsave_in_progress") == "0", "for the second snapshot")
        expect(figure("rdb_last_bgsave_status") == "ok", "the second snapshot failed")
        digest, count = ask("debug", "digest"), int(ask("dbsize"))
        expect(count > 30000 and len(digest) == 40, f"{count} keys, digest {digest}")
        expect(process.poll() is None, "redis has died")
    with runner.server(command):
        start()
        expect(int(ask("dbsize")) == count and ask("debug", "digest") == digest, "the snapshot is not what was saved")
        ask("flushall")
        expect(ask("dbsize") == "0", "flushall left keys")


@entry
def redis_memory(runner):
    """redis asks the allocator by jemalloc's names. It gets the figures of the one that serves it, and can purge."""
    server = Redis(runner)

    def figure(name):
        return float(server.figure("memory", name))

    def ratio(name, other):
        """redis takes the allocator's figures ten times a second, and its own at once."""
        return figure(name) / figure(other)

    with runner.server(server.command) as process:
        server.start()
        server.ask("eval", "for i = 1, 300000 do redis.call('set', 'key:' .. i, string.rep('v', i % 700)) end return 1", "0")
        await_condition(lambda: 0.98 < ratio("allocator_allocated", "used_memory") < 1.05, "for the figures of what redis uses")
        for name in ("allocator_frag_ratio", "allocator_rss_ratio"):
            expect(0.99 < figure(name) < 1.1, f"{name} is {figure(name)}")
        expect(0.75 < ratio("allocator_resident", "used_memory_rss") < 1.02, "resident memory is not what the system says")
        said = server.ask("memory", "doctor")
        expect("can't find any memory issue" in said, f"the doctor says {said}")
        server.ask("eval", "for i = 1, 300000 do if i % 10 ~= 0 then redis.call('del', 'key:' .. i) end end return 1", "0")
        await_condition(lambda: 0.95 < ratio("allocator_allocated", "used_memory") < 1.1, "for the figures of the keys that are left")
        expect(figure("allocator_frag_ratio") > 2, "one key of ten keeps no pages")
        before = figure("used_memory_rss")
        server.ask("flushall")
        expect(server.ask("memory", "purge") == "OK", "redis cannot purge")
        await_condition(lambda: figure("used_memory_rss") < before / 2, "for the memory to come back")
        await_condition(lambda: figure("allocator_resident") < before / 2, "for redis to say so")
        said = server.ask("memory", "malloc-stats")
        expect("tslab" in said and "stats.allocated: " in said, f"the statistics are {said}")
        expect(process.poll() is None, "redis has died")


@entry
def nginx(runner):
    """Worker processes that serve files, whole, compressed and in ranges, to many connections; a reload amidst."""
    server, curl = need("nginx", "nginx-light"), need("curl", "curl")
    port = free_port()
    os.makedirs(runner.path("files"))
    os.makedirs(runner.path("got"))
    wanted = {}
    for number in range(40):
        name = f"{number}.txt"
        content = b"".join(b"%d: line %d of file %d\n" % (i * i, i, number) for i in range(number * 200))
        with open(runner.path("files", name), "wb") as file:
            file.write(content)
        wanted[name] = content
    for directory in ("", "files", "got"):
        os.chmod(runner.path(directory), 0o755)
    config = runner.write("nginx.conf", f"""
        daemon off; master_process on; worker_processes 2; pid {runner.path('pid')}; error_log {runner.path('errors')} warn;
        events {{ worker_connections 256; }}
        http {{
            access_log {runner.path('access')}; client_body_temp_path {runner.path('t1')}; proxy_temp_path {runner.path('t2')};
            fastcgi_temp_path {runner.path('t3')}; uwsgi_temp_path {runner.path('t4')}; scgi_temp_path {runner.path('t5')};
            gzip on; gzip_types text/plain; gzip_min_length 100;
            server {{
                listen 127.0.0.1:{port};
                location / {{ root {runner.path('files')}; autoindex on; }}
                location /proxy/ {{ proxy_pass http://127.0.0.1:{port}/; }}
            }}
        }}
    """)
    requests = []
    for turn in range(20):
        for name in wanted:
            prefix = "proxy/" if turn % 4 == 3 else ""
            requests.append(f'url = "http://127.0.0.1:{port}/{prefix}{name}"\noutput = "{runner.path("got", f"{turn}-{name}")}"\n')
    listing = runner.write("requests", "silent\nfail\ncompressed\n" + "".join(requests))

    def fetch():
        runner.run([curl, "-Z", "--parallel-max", "20", "-K", listing])
        for turn in range(20):
            for name, content in wanted.items():
                with open(runner.path("got", f"{turn}-{name}"), "rb") as file:
                    expect(file.read() == content, f"file {name} came out wrong")
                os.unlink(runner.path("got", f"{turn}-{name}"))

    def answers():
        return subprocess.run([curl, "-s", f"http://127.0.0.1:{port}/1.txt"], capture_output=True, check=False).returncode == 0

    with runner.server([server, "-c", config, "-p", runner.directory, "-e", runner.path("errors")], stop=signal.SIGQUIT) as process:
        await_condition(answers, "for nginx to answer", 20)
        fetch()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        fetch()
        part = runner.run([curl, "-s", "-r", "1000-1999", f"http://127.0.0.1:{port}/39.txt"])
        expect(part.encode() == wanted["39.txt"][1000:2000], "a part of a file came out wrong")
        expect("39.txt" in runner.run([curl, "-s", f"http://127.0.0.1:{port}/"]), "the listing is not right")
    with open(runner.path("errors"), encoding="utf-8") as file:
        errors = file.read()
    for word in ("[alert]", "[emerg]", "[crit]", "exited on signal", "tslab:"):
        if word in errors:
            raise Failed(f"nginx logged:\n{errors}")
