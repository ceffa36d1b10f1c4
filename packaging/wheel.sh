#!/usr/bin/env bash
# wheel.sh [FOLDER]: builds the wheels for linux on x86-64 and arm64, and the source distribution, in FOLDER, by default dist.
# Builds are reproducible: the same commit and Go release give the same bytes. Needs Go and python3 with venv, and
# fetches wheel.txt from PyPI the first time. Called by make wheel, which sets TAGS.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../dist}")
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
time=$(git log -1 --format=%ct 2>/dev/null) && export SOURCE_DATE_EPOCH=$time
umask 022

tools=build/tools/wheel
if ! cmp -s packaging/wheel.txt "$tools/wheel.txt"; then
	rm -rf "$tools"
	python3 -m venv "$tools"
	"$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r packaging/wheel.txt
	cp packaging/wheel.txt "$tools/"
fi
# Not in the folder, which may be in this one: what git does not know of would make the next build another one.
work=$(mktemp -d build/wheel.XXXXXX)
trap 'rm -rf "$work"' EXIT
build() { # wheel or sdist
	"$tools/bin/python" -Bc 'import hatchling.build, sys; getattr(hatchling.build, "build_" + sys.argv[1])(sys.argv[2])' "$1" "$work"
}
for arch in amd64 arm64; do
	GOARCH=$arch build wheel
done
build sdist
mkdir -p "$out"
ls -l "$work"
mv "$work"/* "$out"
