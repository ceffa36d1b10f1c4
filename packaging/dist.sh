#!/usr/bin/env bash
# Builds dist/: archives for linux amd64 and arm64, each with the static binary, its manual page,
# shell completions, the licences of all linked code, and the source of hogwild-mpi, which is built with the
# MPI library of a cluster; and SHA256SUMS. Builds are reproducible:
# the same commit and Go release give the same bytes. Called by make dist, which sets TAGS.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${TAGS:?run make dist, which sets it}"
unset GOFLAGS
export CGO_ENABLED=0 LC_ALL=C TZ=UTC

version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' hogwild/config/config.go)
time=$(git log -1 --format=%ct 2>/dev/null || echo 0)
mkdir -p build
work=$(mktemp -d build/dist.XXXXXX)
trap 'rm -rf "$work"' EXIT
umask 022

go run -trimpath -tags "$TAGS" ./cmd/hogwild man >"$work/hogwild.1"
for arch in amd64 arm64; do
	name=hogwild-$version-linux-$arch
	mkdir -p "$work/$name/completions"
	packaging/binary.sh $arch "$work/$name"
	cp "$work/hogwild.1" "$work/$name/"
	cp cmd/hogwild/completion/hogwild.* "$work/$name/completions/"
	cp LICENSE README.md CHANGELOG.md hogwild/nodes/mpi/hogwild-mpi.c "$work/$name/"
	tar -C "$work" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$time" -cf - "$name" |
		gzip -9n >"$work/$name.tar.gz"
done
rm -rf dist
mkdir dist
mv "$work"/*.tar.gz dist/
cd dist
sha256sum -- *.tar.gz >SHA256SUMS
ls -l
