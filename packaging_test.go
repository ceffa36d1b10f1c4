package hogwild

import (
	"os"
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
	if !strings.Contains(text(t, "CITATION.cff"), "\nversion: "+config.Version+"\n") {
		t.Errorf("CITATION.cff is not of version %s", config.Version)
	}
}

// TestPackaging: what is handed out with the program fits it.
func TestPackaging(t *testing.T) {
	if license := text(t, "LICENSE"); !strings.Contains(license,
		"Apache License\n                           Version 2.0, January 2004") ||
		!strings.Contains(license, "Copyright 2026 The hogwild authors") || strings.Contains(license, "[yyyy]") {
		t.Error("LICENSE is not Apache 2.0 with the authors filled in")
	}
	changes := text(t, "CHANGELOG.md")
	if !strings.Contains(changes, "\n## [Unreleased]\n") || !strings.Contains(changes, "\n## "+config.Version) {
		t.Errorf("CHANGELOG.md has no section Unreleased, or none of %s", config.Version)
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
