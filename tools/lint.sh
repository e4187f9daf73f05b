#!/bin/sh
# Checks what is in Python: its form and usual mistakes with ruff, its types with mypy. Both come from PyPI, into build/lint.
#
# usage: tools/lint.sh [--fix]
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."

environment=build/lint
if ! cmp -s tools/lint-requirements.txt "$environment/requirements.txt"; then
    /usr/bin/python3 -m venv --clear --system-site-packages "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r tools/lint-requirements.txt
    cp tools/lint-requirements.txt "$environment/requirements.txt"
fi
if [ "${1-}" = --fix ]; then
    "$environment/bin/ruff" check --quiet --fix || true
    "$environment/bin/ruff" format --quiet
fi
"$environment/bin/ruff" format --quiet --diff
"$environment/bin/ruff" check --quiet
"$environment/bin/python" -m mypy
