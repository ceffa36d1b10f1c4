package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCitation: what people are asked to cite is this version.
func TestCitation(t *testing.T) {
	inRoot(t)
	if !strings.Contains(text(t, "CITATION.cff"), "\nversion: "+config.Version+"\n") {
		t.Errorf("CITATION.cff is not of version %s", config.Version)
	}
}

// TestPackaging: what is handed out with the program fits it.
func TestPackaging(t *testing.T) {
	inRoot(t)
	if license := text(t, "LICENSE"); !strings.Contains(license,
		"Apache License\n                           Version 2.0, January 2004") ||
		!strings.Contains(license, "Copyright 2026 The hogwild authors") || strings.Contains(license, "[yyyy]") {
		t.Error("LICENSE is not Apache 2.0 with the authors filled in")
	}
	changes := text(t, "CHANGELOG.md")
	section := regexp.MustCompile(`\n## \[?` + regexp.QuoteMeta(config.Version) + `\]? `)
	if !strings.Contains(changes, "\n## [Unreleased]\n") || !section.MatchString(changes) {
		t.Errorf("CHANGELOG.md has no section Unreleased, or none of %s", config.Version)
	}
	for _, name := range []string{"README.md", "docs/install.md"} {
		for _, m := range regexp.MustCompile(`hogwild[- ](\d+\.\d+\.\d+)`).FindAllStringSubmatch(text(t, name), -1) {
			if m[1] != config.Version {
				t.Errorf("%s shows %q of version %s: packaging/source.sh would not set it", name, m[0], config.Version)
			}
		}
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))[1]
	for _, name := range []string{"packaging/Containerfile", "packaging/Containerfile.cuda"} {
		file := text(t, name)
		for _, line := range []string{"FROM docker.io/library/golang:" + release + "-bookworm AS build\n",
			"\nUSER 65532:65532\n", "\nENTRYPOINT [\"hogwild\"]\n"} {
			if !strings.Contains(file, line) {
				t.Errorf("%s has no line %q", name, strings.TrimSpace(line))
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^COPY ([A-Z]\S+) `).FindAllStringSubmatch(file, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s copies %v", name, err)
			}
		}
	}
	if script := text(t, "packaging/binary.sh"); strings.Count(script, " build ") != strings.Count(script,
		`-tags "$TAGS" -o `) {
		t.Error("packaging/binary.sh builds a program without $TAGS: see TestProgramsAreBuiltWithoutRenderers")
	}
}

// repository is a folder with the files in which packaging/source.sh sets the version, committed, and what runs a
// command in it.
func repository(t *testing.T) (dir string, run func(name string, args ...string) (string, error)) {
	if _, err := exec.LookPath("git"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	dir = t.TempDir()
	run = func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=An Author", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_AUTHOR_DATE=2026-01-02T03:04:05+0200",
			"GIT_COMMITTER_NAME=A Committer", "GIT_COMMITTER_EMAIL=c@localhost",
			"GIT_COMMITTER_DATE=2026-02-03T04:05:06+0200")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, content := range map[string]string{
		".gitignore":               "/build/\n",
		"packaging/source.sh":      text(t, "packaging/source.sh"),
		"hogwild/config/config.go": "const Version = \"0.9.0\"\n",
		"CITATION.cff":             "cff-version: 1.2.0\nversion: 0.9.0\n",
		"README.md":                "Nothing.\n",
		"docs/install.md":          "hogwild-0.9.0-linux-amd64.tar.gz\n",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n" +
			"## [0.9.0] - 2026-01-01\n\n- Old.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "All"}} {
		if out, err := run("git", args...); err != nil {
			t.Fatal(out)
		}
	}
	return dir, run
}

// TestRelease: packaging/source.sh refuses what cannot be a release, and else makes the same commit each time.
func TestRelease(t *testing.T) {
	inRoot(t)
	dir, run := repository(t)
	refused := func(version, why string) {
		t.Helper()
		out, err := run("packaging/source.sh", version)
		if err == nil || !strings.HasPrefix(out, "make release: ") || !strings.Contains(out, why) ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("release %q: %v, want one line with %q: %s", version, err, why, out)
		}
	}
	do := func(name string, args ...string) string {
		t.Helper()
		out, err := run(name, args...)
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return out
	}
	for _, version := range []string{"", "1", "0.10", "v0.10.0", "0.010.0", "0.10.0-rc.1"} {
		refused(version, "give three numbers")
	}
	refused("0.9.0", "not above 0.9.0")
	refused("0.8.10", "not above 0.9.0")
	do("touch", "new")
	refused("0.10.0", "uncommitted changes")
	do("rm", "new")
	do("git", "tag", "v0.10.0")
	refused("0.10.0", "tag v0.10.0 exists")
	do("git", "tag", "-d", "v0.10.0")

	var tags [3]string
	for i := range tags {
		if i == 2 { // from the commit of the release
			do("git", "fetch", "-q", "build/release/source", "tag", "v0.10.0")
			do("git", "merge", "-q", "--ff-only", "v0.10.0")
		}
		do("packaging/source.sh", "0.10.0")
		tags[i] = do("git", "-C", "build/release/source", "rev-parse", "v0.10.0", "HEAD")
		if out := do("git", "status", "--porcelain"); out != "" {
			t.Errorf("a release changed its repository: %s", out)
		}
	}
	if tags[1] != tags[0] || tags[2] != tags[0] {
		t.Errorf("three times the tag and the commit of one release are %q", tags)
	}
	const whose = "An Author a@localhost 2026-01-02T03:04:05+02:00 A Committer c@localhost 2026-02-03T04:05:06+02:00\n"
	if out := do("git", "log", "-2", "--format=%an %ae %aI %cn %ce %cI"); out != whose+whose {
		t.Errorf("the commit of the release and the one before are %q", out)
	}
	for name, want := range map[string]string{
		"hogwild/config/config.go": "const Version = \"0.10.0\"\n",
		"CITATION.cff":             "cff-version: 1.2.0\nversion: 0.10.0\n",
		"docs/install.md":          "hogwild-0.10.0-linux-amd64.tar.gz\n",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.10.0] - 2026-02-03\n\n### Added\n\n- New.\n\n" +
			"## [0.9.0] - 2026-01-01\n\n- Old.\n",
		"build/release/RELEASE-NOTES.md": "### Added\n\n- New.\n\n",
	} {
		if got := text(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s of the release is %q, want %q", name, got, want)
		}
	}
	refused("0.11.0", "nothing under")
	do("git", "commit", "-q", "--allow-empty", "-m", "More")
	refused("0.10.0", "tag v0.10.0 exists")
}
