#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME each (10m), JOBS of them at once (all cores); TARGETS limits them
# by a regular expression. An input that fails is left in testdata/fuzz of its package: commit it
# with what mends it. What was found to reach new code is kept in build/fuzz/cache, for the next time.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$PWD/build/fuzz
mkdir -p "$out/cache"

targets=$(grep -r --include='*_test.go' --exclude-dir=build -o '^func Fuzz[A-Za-z0-9]*' . | sed 's|^\./\(.*\)/[^/]*:func |\1 |' | sort | grep -E "${TARGETS:-.}")
for package in $(cut -d ' ' -f 1 <<<"$targets" | uniq); do
	go test -c -fuzz . -o "$out/${package//\//-}.test" "./$package"
done

one() {
	log=$out/$2.log
	cd "$1"
	if "$out/${1//\//-}.test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$FUZZTIME" -test.fuzzminimizetime 100x \
		-test.fuzzcachedir "$out/cache/${1//\//-}" -test.parallel 1 -test.timeout 0 >"$log" 2>&1; then
		echo "$2: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
	else
		cat "$log"
		input=$(sed -n 's/.*Failing input written to //p' "$log") # a CI machine forgets it
		test -z "$input" || cat "$input"
		return 1
	fi
}
export -f one
export out FUZZTIME=${FUZZTIME:-10m} GOMEMLIMIT=${GOMEMLIMIT:-384MiB} GOMAXPROCS=${GOMAXPROCS:-2}
xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'one "$1" "$2"' one <<<"$targets"
