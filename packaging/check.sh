#!/usr/bin/env bash
# Makes a release twice, from clones in two folders, compares the bytes, and starts what it has: the programs, on arm64
# under qemu-user, and the image as the user that it names. The clones have what is committed and what is not, but no new
# files. Called by make release-check.
set -euo pipefail
cd "$(dirname "$0")/.."
unset HOGWILD_BIN # a program of the tests around this one
work=$PWD/build/check version=1000.0.0
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
commit=$(git -c user.name=check -c user.email=check@localhost stash create)
for folder in one another/folder; do
	git clone --quiet --no-checkout . "$work/$folder"
	git -C "$work/$folder" checkout --quiet --detach "${commit:-HEAD}"
	make --no-print-directory -C "$work/$folder" release VERSION=$version >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	umask 077 # and then as another user
	export TZ=Asia/Tokyo LC_ALL=C.UTF-8 GOFLAGS=-v
done
cat "$work/log"
umask 022
unset GOFLAGS
diff -r "$work/one/dist" "$work/another/folder/dist"
(cd "$work/one/build/release/source" && go test -short -run 'TestPackaging|TestRelease' ./internal/house)

cd "$work/one/dist"
sha256sum --quiet --check SHA256SUMS
for arch in amd64 arm64; do
	name=hogwild-$version-linux-$arch
	tar -xzf "$name.tar.gz" -C "$work"
	layer=$(tar -tvf "$name.oci.tar" | sort -nk 3 | tail -n 1 | grep -o '[^ ]*$')
	tar -xOf "$name.oci.tar" "$layer" | tar -xzO usr/local/bin/hogwild | cmp - "$work/$name/hogwild"
done
"$work/hogwild-$version-linux-amd64/hogwild" version
qemu-aarch64 "$work/hogwild-$version-linux-arm64/hogwild" version | grep 'loops neon'

engine() { buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs "$@"; }
image=$(engine from --quiet "oci-archive:hogwild-$version-linux-amd64.oci.tar")
engine run --isolation chroot "$image" -- hogwild train --workers 2 --epochs 2
