#!/usr/bin/python3 -B
"""Makes what a release consists of, from the commit HEAD: the sources, the amalgamation, an SPDX bill of materials, a repository for
apt where the tools of Debian's packages are, and checksums. The same commit gives the same bytes, on any machine and in any
directory; in the repository, with the same compiler.
"""

import argparse
import contextlib
import email.utils
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, stdout=subprocess.PIPE).stdout


def compressed(data):
    """Without a name and a time, which differ from run to run."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as stream:
        stream.write(data)
    return out.getvalue()


def archive_of(files, seconds):
    """A tar archive: files of nobody, all of one time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), seconds, 0o644
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@contextlib.contextmanager
def extracted(sources):
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(fileobj=io.BytesIO(sources)) as archive:
            archive.extractall(directory)
        (root,) = pathlib.Path(directory).iterdir()
        yield root


def amalgamation(sources, name, seconds):
    """By the script of the commit, from the sources of the commit."""
    with extracted(sources) as root:
        made = root.with_name("made")
        subprocess.run([root / "tools/amalgamate.py", made], check=True)
        return archive_of({f"{name}/{path.name}": path.read_bytes() for path in made.iterdir()}, seconds)


def apt_repository(sources, seconds):
    """Debian's packages, and the lists by which apt finds them: a directory that apt can install from as it is. Nobody has signed it."""
    missing = [tool for tool in ("dpkg-buildpackage", "dh", "dh_python3", "dpkg-scanpackages") if shutil.which(tool) is None]
    if missing:
        print(f"tslab: no repository for apt: there is no {missing[0]} (docs/install.md, Debian)", file=sys.stderr)
        return {}
    with extracted(sources) as root:
        settings = {**os.environ, "DEB_BUILD_OPTIONS": f"parallel={os.cpu_count()} noautodbgsym", "SOURCE_DATE_EPOCH": str(seconds)}
        build = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=root, env=settings, capture_output=True, text=True)
        if build.returncode != 0:
            sys.exit(f"{build.stdout}{build.stderr}dpkg-buildpackage failed")
        packages = {path.name: path.read_bytes() for path in sorted(root.parent.glob("*.deb"))}
        listed = subprocess.run(["dpkg-scanpackages", "."], cwd=root.parent, check=True, capture_output=True).stdout
    architectures = {name.rsplit("_", 1)[1].removesuffix(".deb") for name in packages} - {"all"}
    release = [
        "Origin: tslab", "Label: tslab", "Suite: stable", f"Architectures: {' '.join(sorted(architectures))}",
        f"Date: {email.utils.formatdate(seconds, usegmt=True)}", "SHA256:", f" {hashlib.sha256(listed).hexdigest()} {len(listed)} Packages",
    ]  # fmt: skip
    files = {**packages, "Packages": listed, "Release": "".join(f"{line}\n" for line in release).encode()}
    return {f"apt/{name}": data for name, data in files.items()}


# What is not ours, and its licences.
OTHERS, OF_OTHERS = "/profiles/page/d3-flame-graph.js", "Apache-2.0 AND ISC AND BSD-3-Clause"


def bill_of_materials(name, version, sources, packed, seconds):
    """SPDX 2.3. One package, made of these files, that needs nothing but a C library."""
    files, digests = [], []
    with tarfile.open(fileobj=io.BytesIO(sources)) as archive:
        for at, entry in enumerate(sorted((entry for entry in archive if entry.isfile()), key=lambda entry: entry.name)):
            data = archive.extractfile(entry).read()
            sha1 = hashlib.sha1(data).hexdigest()
            digests.append(sha1)
            files.append({
                "fileName": "./" + entry.name.partition("/")[2], "SPDXID": f"SPDXRef-File-{at}",
                "checksums": [{"algorithm": "SHA1", "checksumValue": sha1},
                              {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                "licenseConcluded": OF_OTHERS if entry.name.endswith(OTHERS) else "MIT", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
            })  # fmt: skip
    digest = hashlib.sha256(packed).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "creators": [f"Tool: tslab-dist-{version}"],
        },
        "documentDescribes": ["SPDXRef-Package"],
        "packages": [{
            "name": "tslab", "SPDXID": "SPDXRef-Package", "versionInfo": version, "packageFileName": f"{name}.tar.gz",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
            "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(digests)).encode()).hexdigest()},
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            "hasFiles": [file["SPDXID"] for file in files],
            "licenseConcluded": f"MIT AND {OF_OTHERS}", "licenseDeclared": f"MIT AND {OF_OTHERS}", "licenseInfoFromFiles": ["NOASSERTION"],
            "copyrightText": "Copyright (c) 2026 the tslab authors", "primaryPackagePurpose": "LIBRARY",
        }],
        "files": files,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Package"},
            *({"spdxElementId": "SPDXRef-Package", "relationshipType": "CONTAINS", "relatedSpdxElement": file["SPDXID"]} for file in files),
        ],
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    target = parser.parse_args().directory
    target.mkdir(parents=True, exist_ok=True)
    if git("status", "--porcelain").strip():
        print("tslab: what is not committed is left out", file=sys.stderr)
    version = subprocess.run([ROOT / "tools/version.py"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    name = f"tslab-{version}"
    seconds = int(git("log", "-1", "--format=%ct"))
    # The configuration of whoever packs must not decide about modes or line ends.
    sources = git("-c", "tar.umask=0022", "-c", "core.autocrlf=false", "archive", "--format=tar", f"--prefix={name}/", "HEAD")
    packed = compressed(sources)
    bill = json.dumps(bill_of_materials(name, version, sources, packed, seconds), indent=1) + "\n"
    made = {
        f"{name}.tar.gz": packed,
        f"{name}-amalgamation.tar.gz": compressed(amalgamation(sources, f"{name}-amalgamation", seconds)),
        f"{name}.spdx.json": bill.encode(),
        **apt_repository(sources, seconds),
    }
    made["SHA256SUMS"] = "".join(f"{hashlib.sha256(data).hexdigest()}  {file}\n" for file, data in sorted(made.items())).encode()
    shutil.rmtree(target / "apt", ignore_errors=True)  # packages of other commits
    for file, data in made.items():
        (target / file).parent.mkdir(exist_ok=True)
        (target / file).write_bytes(data)
        print(target / file)


main()
