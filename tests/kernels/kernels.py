"""The library on other kernels than this machine's: boots each in an emulator, runs some of the tests there, and prints which of
the features that the library uses are there, and what the library does where one is not (docs/limits.md).

usage: kernels.py CACHE FEATURES DROPIN KERNEL PROGRAM...

  CACHE     a folder for kernels, which apt fetches as packages
  FEATURES  the program of features.c
  DROPIN    libtslab-malloc.so
  KERNEL    a package of Debian's that stands for a kernel (linux-image-cloud-amd64), or uml: User-mode Linux
  PROGRAM   a program that is run as it is; preload:PROGRAM runs with the drop-in
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
LONGEST_S = 900
TEST_S = 300
# Since which version of Linux a feature is there. None: the kernel's configuration decides.
SINCE = {"MAP_FIXED_NOREPLACE": (4, 17), "mremap": (2, 6), "MREMAP_DONTUNMAP": (5, 7),
         "mremap of neighbours": (6, 17), "MADV_POPULATE_WRITE": (5, 14), "memfd seals": (3, 17), "F_SEAL_FUTURE_WRITE": (5, 1),
         "MFD_NOEXEC_SEAL": (6, 3), "close_range": (5, 9), "PSI triggers": None, "MADV_NOHUGEPAGE": None,
         "huge pages on request": None}  # fmt: skip


class Skip(Exception):
    pass


def need(command, package):
    found = shutil.which(command) or shutil.which(f"/usr/sbin/{command}")
    if found is None:
        raise Skip(f"there is no {command} (Debian: {package})")
    return found


def fetched(cache, package):
    """The kernel of the package that this one depends on. The machine's own packages stay as they are."""
    folder = cache / package
    if not list(folder.glob("boot/vmlinuz-*")):
        need("apt-get", "apt")
        depends = subprocess.run(("apt-cache", "depends", package), capture_output=True, text=True, check=False).stdout
        real = re.search(r"Depends: (linux-image-\S+)", depends)
        if real is None:
            raise Skip(f"apt knows no {package} here")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = ("apt-get", "-q", "-o", f"APT::Sandbox::User={os.environ.get('USER', 'root')}", "download", real[1])
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode != 0:
            raise Skip(f"apt cannot fetch {real[1]}")
        for package_file in folder.glob("*.deb"):
            subprocess.run(("dpkg-deb", "-x", str(package_file), str(folder)), check=True)
            package_file.unlink()
        shutil.rmtree(folder / "lib", ignore_errors=True)
    return next(folder.glob("boot/vmlinuz-*"))


def libraries(program):
    """The files that a program needs, and where it looks for each."""
    said = subprocess.run(("ldd", str(program)), capture_output=True, text=True, check=False).stdout
    return {path for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.M)}


def archive(folder, features, dropin, programs):
    """A first file system with busybox, the programs and their libraries."""
    root = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy(need("busybox", "busybox-static"), root / "bin/busybox")
    shutil.copy(pathlib.Path(__file__).with_name("init.sh"), root / "init")
    (root / "init").chmod(0o755)
    tests = [f"20|features|{features}"]
    needed = {str(features), str(dropin), "/bin/bash"}
    for word in programs:
        path = word.removeprefix("preload:")
        needed.add(path)
        before = f"LD_PRELOAD={dropin} " if path != word else ""
        tests.append(f"{TEST_S}|{pathlib.Path(path).name}|{before}{path}")
    script = 'a=(); for ((i = 0; i < 3000; i++)); do a[i]="$i$i"; done; for i in 1 2 3; do (echo "${a[@]}") | wc -c; done'
    tests.append(f"{TEST_S}|bash|LD_PRELOAD={dropin} /bin/bash -c '{script}'")
    for path in set().union(needed, *(libraries(path) for path in needed)):
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(os.path.realpath(path), target)
    (root / "tests").write_text("\n".join(tests) + "\n")
    files = subprocess.run(("find", "."), cwd=root, capture_output=True, check=True).stdout
    with open(folder / "initramfs", "wb") as file:
        subprocess.run((need("cpio", "cpio"), "-o", "-H", "newc", "--quiet"), cwd=root, input=files, stdout=file, check=True)
    return folder / "initramfs", [test.split("|")[1] for test in tests]


def command_of(kernel, cache, folder, initramfs):
    if kernel == "uml":
        uml = os.environ.get("TESTS_UML") or need("linux.uml", "user-mode-linux")
        return [uml, "mem=1G", f"initrd={initramfs}", "con=null", "con0=null,fd:1", "panic=-1", "quiet", f"uml_dir={folder}"]
    return [need("qemu-system-x86_64", "qemu-system-x86"), "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "1536",
            "-kernel", str(fetched(cache, kernel)), "-initrd", str(initramfs), "-nodefaults", "-nographic", "-serial", "stdio",
            "-no-reboot", "-append", "console=ttyS0 panic=-1 quiet"]  # fmt: skip


def boot(command, folder):
    """What the kernel said, also if it hangs."""
    with open(folder / "said", "w+", encoding="utf-8", errors="replace") as said:
        run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                               env=os.environ | {"TMPDIR": str(folder)}, start_new_session=True)  # fmt: skip
        try:
            run.wait(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # its processes are a session of their own
            run.wait()
            said.write("\nit hangs\n")
        said.seek(0)
        return said.read().replace("\r", "")


def complaints(said, tests):
    release = re.search(r"kernel ((\d+)\.(\d+)\S*)$", said, re.M)
    if release is None:
        yield "the kernel does not say its name"
        return
    version = (int(release[2]), int(release[3]))
    features = dict(re.findall(r"^feature (.+): (yes|no)$", said, re.M))
    print(f"Linux {release[1]}")
    for feature, since in SINCE.items():
        print(f"  {features.get(feature, 'not said'):4} {feature}")
        if since is not None and features.get(feature) != ("yes" if version >= since else "no"):
            yield f"{feature}: {features.get(feature)}, and is there since {since}"
    codes = dict(re.findall(r"^test (.+): exit (\d+)$", said, re.M))
    for test in tests:
        print(f"  {codes.get(test, 'none'):4} {test}")
        if codes.get(test) not in ("0", "77"):
            yield f"{test}: exit {codes.get(test)}"


def main():
    cache, features, dropin = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    kernel, programs = sys.argv[4], sys.argv[5:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            initramfs, tests = archive(folder, features, dropin, programs)
            said = boot(command_of(kernel, cache, folder, initramfs), folder)
        except Skip as why:
            print(f"skipped: {why}")
            return SKIPPED
    found = list(complaints(said, tests))
    if found:
        print(said, *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
