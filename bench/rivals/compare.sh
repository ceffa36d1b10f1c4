#!/usr/bin/env bash
# Compares hogwild with its rivals: compare.py with the Python that build.sh has installed in build/rivals (or $RIVALS).
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${RIVALS:=build/rivals}/v/bin/python
export RIVALS
test -x "$python" || { echo "$python does not exist: run bench/rivals/build.sh"; exit 1; }
make --no-print-directory build
exec "$python" bench/rivals/compare.py "$@"
