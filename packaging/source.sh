#!/usr/bin/env bash
# Writes build/release/source: a clone of HEAD in which VERSION is set, Unreleased of CHANGELOG.md is its section, and both
# are committed and tagged; and build/release/RELEASE-NOTES.md, that section. The commit and the tag have the names and
# dates of HEAD, so they have the same hash wherever they are made. Called by release.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
umask 022
version=${1:-}
fail() { echo "make release: $*" >&2; exit 1; }

number='(0|[1-9][0-9]*)'
[[ $version =~ ^$number\.$number\.$number$ ]] || fail "VERSION is \"$version\": give three numbers, such as make release VERSION=0.2.0"
changes=$(git status --porcelain)
test -z "$changes" || fail "there are uncommitted changes: commit or stash them (git status shows them)"

# section NAME prints what CHANGELOG.md has under it.
section() { sed "1,/^## \[$1\]/d" CHANGELOG.md | sed -e '/^## /,$d' | sed -e '/./,$!d'; }

# A release is built again from its own commit: nothing is set then.
old=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' hogwild/config/config.go)
test "$old" = "$version" && test -z "$(section Unreleased)" && test -n "$(section "$version")" && again=true || again=false
tagged=$(git rev-parse --quiet --verify "refs/tags/v$version^{commit}" || true)
if [ -n "$tagged" ] && ! { $again && [ "$tagged" = "$(git rev-parse HEAD)" ]; }; then
	fail "the tag v$version exists: choose a higher VERSION, or git checkout v$version to build it again"
fi
last=$(sed -nE "s/^## \[?($number\.$number\.$number)\b.*/\1/p" CHANGELOG.md | sort -V | tail -n 1)
if ! $again; then
	test "$version" != "$last" && test "$(printf '%s\n' "$last" "$version" | sort -V | tail -n 1)" = "$version" ||
		fail "VERSION $version is not above $last, the last in CHANGELOG.md: choose a higher one"
	test -n "$(section Unreleased)" || fail 'CHANGELOG.md has nothing under "## [Unreleased]": say there what is new'
fi

mkdir -p build/release
rm -rf build/release/source
git clone --quiet --no-checkout . build/release/source
head=$(git rev-parse HEAD)
cd build/release/source
git checkout --quiet --detach "$head"
GIT_AUTHOR_NAME=$(git log -1 --format=%an) GIT_AUTHOR_EMAIL=$(git log -1 --format=%ae) GIT_AUTHOR_DATE=$(git log -1 --format=%aI)
GIT_COMMITTER_NAME=$(git log -1 --format=%cn) GIT_COMMITTER_EMAIL=$(git log -1 --format=%ce) GIT_COMMITTER_DATE=$(git log -1 --format=%cI)
export "${!GIT_AUTHOR_@}" "${!GIT_COMMITTER_@}"
if ! $again; then
	git grep -lwF "$old" -- hogwild/config/config.go hogwild/program/python/hogwild/__init__.py README.md docs/install.md |
		xargs sed -i "s/\b${old//./\\.}\b/$version/g"
	sed -i "s/^version: .*/version: $version/" CITATION.cff # which has the version of its format too
	sed -i "s/^## \[Unreleased\]\$/&\n\n## [$version] - $(git log -1 --format=%cs)/" CHANGELOG.md
	git commit --quiet --no-verify --no-gpg-sign --all --message "Release $version"
fi
test -n "$tagged" || git tag --no-sign --message "hogwild $version" "v$version"
section "$version" >../RELEASE-NOTES.md
