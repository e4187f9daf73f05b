#!/bin/sh
# Makes sure that the Debian packages are there that a job needs: as root by installing what is missing, as an ordinary user by
# saying how. Silent when nothing is missing. With --only-say root, too, is told how, and nothing is installed.
#
# usage: tools/setup.sh [--only-say] build|test|test-slow|demo|lab|docs|coverage|aarch64|test-all
set -eu

only_say=
if [ "${1-}" = --only-say ]; then
    only_say=1
    shift
fi

build="cmake ninja-build gcc g++ libc6-dev pkg-config"
requests="libmicrohttpd-dev libjansson-dev nghttp2-client"
pools="libapr1-dev"
figures="python3-numpy python3-matplotlib"
# What the command `tslab` takes of Python's, as debian/control says.
tslab="python3-rich python3-prometheus-client"
# What names the functions of a profile.
symbols="llvm debuginfod"
# What checks the rules for alerts: promtool.
alerts="prometheus"
demo="python3 python3-rich python3-jinja2 $figures postgresql redis-server libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0"
programs="redis-server redis-tools nginx wrk sqlite3 perl git lua5.4 g++ clang rocksdb-tools postgresql"
lab="python3 $tslab python3-jinja2 binutils patch zstd postgresql $programs libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 $requests $pools $figures"
test="$build $demo python3-jinja2 $requests $tslab $symbols $alerts $pools $figures $programs binutils libcmocka-dev glibc-source patch valgrind curl chromium chromium-driver python3-selenium python3-hypothesis python3-yaml clang clang-format clang-tidy libclang-rt-14-dev mandoc systemtap-sdt-dev gdb strace zstd bpftrace faketime torsocks libuid-wrapper libcap-dev"
# Tools under which programs are tested.
watchers="ltrace qemu-user"
# Other ways to get tslab: other compilers and C libraries, packages.
ways="musl-tools gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user build-essential dpkg-dev debhelper dh-python fakeroot lintian rpm cpio python3-venv liblua5.4-dev rpmlint nix-bin zsh fish"

# The package of a language, but only where its commands cannot be had already, from whatever source.
language() {
    package=$1
    shift
    for command in "$@"; do
        command -v "$command" >/dev/null || { echo "$package"; return; }
    done
}

# Python's own tests, in a package that has the version of Debian's Python in its name (where the lists know of one).
cpython=$(apt-cache depends python3 2>/dev/null | sed -n 's/^ *Depends: \(python3\.[0-9]*\)$/lib\1-testsuite/p' || true)
# Real control groups, where Debian has them for this processor.
uml=$(apt-cache show user-mode-linux >/dev/null 2>&1 && echo user-mode-linux || true)
# Other kernels: an emulator, and the first file system. The kernels themselves are fetched by their test (tests/kernels).
kernels="qemu-system-x86 busybox-static cpio"

case "${1-}" in
    build) wanted=$build ;;
    test) wanted=$test ;;
    test-slow) wanted="$test $ways $watchers $cpython $uml" ;;
    demo) wanted=$demo ;;
    lab) wanted="$build $lab" ;;
    docs) wanted="python3 python3-venv" ;;
    coverage) wanted="$build libcmocka-dev python3 clang libclang-rt-14-dev llvm" ;;
    aarch64) wanted="$build gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user" ;;
    test-all)
        wanted="$test $ways $watchers $cpython $uml $kernels buildah mmdebstrap $(language nodejs node) $(language default-jdk-headless java javac) $(language golang-go go)"
        wanted="$wanted $(language rustc-web rustc) $(language cargo-web cargo)"
        ;;
    *) echo "usage: tools/setup.sh [--only-say] build|test|test-slow|demo|lab|docs|coverage|aarch64|test-all" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "tslab: this is not a Debian system; please see to it that you have: $wanted" >&2
    exit 0
fi

# dpkg-query fails when it does not know a package at all, and still lists the others.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' || true)
missing=
for package in $wanted; do
    case "
$installed
" in
        *"
$package
"*) ;;
        *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    exit 0
fi

if [ -n "$only_say" ] || [ "$(id -u)" != 0 ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo "
    echo "tslab: some Debian packages are missing; this installs them:" >&2
    echo "${sudo}apt-get install$missing"
    exit 1
fi

echo "tslab: installing the missing Debian packages with apt-get:$missing"

log=$(mktemp)
guard=
clean_up() {
    rm -f "$log" $guard
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# The tests want the programs of redis, nginx, PostgreSQL and Prometheus, not services of this machine: none is started while we install
# (an existing guard is the administrator's and stays), and those that came with us are disabled after.
if [ ! -e /usr/sbin/policy-rc.d ]; then
    guard=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' >"$guard"
    chmod 755 "$guard"
fi

install_missing() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing </dev/null >"$log" 2>&1
}

# The lists of a fresh machine are empty or old: they are fetched when it does not work without.
if ! install_missing; then
    echo "tslab: fetching the lists of packages first (apt-get update)"
    if ! apt-get update >"$log" 2>&1 || ! install_missing; then
        cat "$log" >&2
        echo "tslab: apt-get could not install:$missing" >&2
        exit 1
    fi
fi

for package in $missing; do
    case $package in
        redis-server | nginx | postgresql | prometheus) update-rc.d "$package" disable >"$log" 2>&1 || cat "$log" >&2 ;;
    esac
done
