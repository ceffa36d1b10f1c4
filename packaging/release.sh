#!/usr/bin/env bash
# Makes release VERSION of what is committed: dist/ gets the archives of dist.sh, the wheels of wheel.sh, an image for each
# architecture, the section of CHANGELOG.md, and SHA256SUMS of all. It builds in build/release/source, the clone of
# source.sh. The same commit, Go and buildah give the same bytes. Nothing is uploaded. Called by make release, which sets TAGS.
#
# The images are made of Containerfile without its first stage: a folder with the archive's binary stands in for it, so
# nothing is pulled. Mozilla's certificates are those of the Python package certifi, in the version of certificates.txt,
# which the pip of wheel.sh fetches from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${TAGS:?run make release VERSION=0.2.0, which sets it}"
export LC_ALL=C TZ=UTC
umask 022
version=${1:-}

missing=
for need in 'go:none as new; see https://go.dev/dl' git:git python3:python3 buildah:buildah; do
	command -v "${need%%:*}" >/dev/null || missing="$missing, ${need%%:*} (Debian: ${need#*:})"
done
python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$missing, venv of Python (Debian: python3-venv)"
test -z "$missing" || { echo "make release: missing: ${missing#, }" >&2; exit 1; }

packaging/source.sh "$version"
out=$PWD/dist work=$PWD/build/release
cd build/release/source
packaging/dist.sh
packaging/wheel.sh "$PWD/dist"

trap 'rm -rf "$work/image"' EXIT
rm -rf "$work/image"
mkdir -p "$work/image"
build/tools/wheel/bin/pip download --quiet --no-deps --only-binary :all: --require-hashes --disable-pip-version-check \
	--dest "$work/image" --requirement packaging/certificates.txt
python3 -m zipfile -e "$work"/image/certifi-*.whl "$work/image/certifi"
time=$(git log -1 --format=%ct)
engine() { buildah --root "$work/image/root" --runroot "$work/image/run" --storage-driver vfs "$@"; }
for arch in amd64 arm64; do
	name=hogwild-$version-linux-$arch stage=$work/image/$arch
	mkdir -p "$stage/empty/work" "$stage/empty/tmp" "$stage/src/bin" "$stage/etc/ssl/certs"
	chmod 1777 "$stage/empty/tmp"
	tar -xzf "dist/$name.tar.gz" -C "$work/image"
	cp "$work/image/$name/hogwild" "$stage/src/bin/"
	cp "$work/image/$name/LICENSES-of-others" "$stage/src/bin/"
	cat "$work"/image/certifi/certifi-*/licenses/LICENSE >>"$stage/src/bin/LICENSES-of-others"
	cp "$work/image/certifi/certifi/cacert.pem" "$stage/etc/ssl/certs/ca-certificates.crt"
	engine build --quiet --isolation chroot --build-context "build=$stage" --arch $arch --timestamp "$time" --identity-label=false \
		--label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.revision=$(git rev-parse HEAD)" \
		--tag "hogwild:$version" --file packaging/Containerfile . >"$work/image/id"
	engine push --quiet "$(cat "$work/image/id")" "oci:$work/image/oci-$arch:hogwild:$version"
	tar -C "$work/image/oci-$arch" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$time" \
		-cf "dist/$name.oci.tar" .
done

{
	cat "$work/RELEASE-NOTES.md"
	printf '\nMade from commit %s by %s and %s.\n' "$(git rev-parse HEAD)" "$(go env GOVERSION)" "$(buildah --version | cut -d ' ' -f 1-3)"
} >dist/RELEASE-NOTES.md
(cd dist && rm SHA256SUMS && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
rm -rf "$out"
mv dist "$out"
ls -l "$out"
cat <<END
dist has hogwild $version. Nothing was uploaded or changed in this repository. To take its commit and its tag over:
  git fetch build/release/source tag v$version && git merge --ff-only v$version
END
