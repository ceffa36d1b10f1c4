#!/bin/sh
# binary.sh ARCH FOLDER: builds the static binary for linux on amd64 or arm64, and LICENSES-of-others with the licences
# of all linked code. The same commit and Go release give the same bytes. dist.sh calls it, and hatch_build.py,
# where there may be no make and no bash.
set -eu
arch=$1 folder=$2
cd "$(dirname "$0")/.."
unset GOFLAGS
export CGO_ENABLED=0 GOOS=linux GOARCH="$arch" GOAMD64=v1 GOARM64=v8.0 LC_ALL=C
TAGS=${TAGS:-$(sed -n 's/^TAGS = //p' Makefile)}

go build -trimpath -buildvcs=auto -ldflags '-s -w' -tags "$TAGS" -o "$folder/hogwild" ./cmd/hogwild
{
	# Debian's Go comes without its licence, and x/sys has the same.
	echo "Go $(go env GOVERSION) $(go list -m -f '{{.Dir}}' golang.org/x/sys)"
	go list -tags "$TAGS" -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/hogwild
} >"$folder/modules"
{
	echo "hogwild is licensed under LICENSE. The binary also contains code from these projects."
	sort -u "$folder/modules" | while read -r name module source; do
		printf '\n%s\n%s %s\n\n' "$(printf '=%.0s' $(seq 80))" "$name" "$module"
		found=$(find "$source" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' \) | sort)
		test -n "$found" || { echo "$name has no licence" >&2; exit 1; }
		echo "$found" | xargs cat
	done
} >"$folder/LICENSES-of-others"
rm "$folder/modules"
