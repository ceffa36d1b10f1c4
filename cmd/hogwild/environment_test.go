package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVariables: the program knows each variable that its sources, tests and pages name.
func TestVariables(t *testing.T) {
	names := regexp.MustCompile(`HOGWILD_[A-Z0-9_]+`)
	known := func(name string) bool {
		t.Setenv(name, "x")
		defer os.Unsetenv(name)
		err := unknownVariable(app(nil, nil).Commands)
		return err == nil || !strings.Contains(err.Error(), "is not a setting")
	}
	seen := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "build" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".sh", ".txt", ".c", ".yml", ".yaml", ""}, filepath.Ext(path)) ||
			!d.Type().IsRegular() || d.Name() == "wrong.txt" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range names.FindAllString(string(text), -1) {
			if !seen[name] && !known(name) {
				t.Errorf("%s: %s is unknown", path, name)
			}
			seen[name] = true
		}
		return err
	})
	if err != nil || len(seen) < 30 {
		t.Errorf("%d names, %v", len(seen), err)
	}
	for name, says := range map[string]string{
		prefix + "MOMENTM": "did you mean HOGWILD_MOMENTUM?", prefix + "WORKER": "did you mean HOGWILD_WORKERS?",
		prefix + "NO_SUCH_THING_AT_ALL": "not a setting of any command (unset it",
	} {
		t.Setenv(name, "1")
		if err := unknownVariable(app(nil, nil).Commands); err == nil || !strings.Contains(err.Error(), says) ||
			status(err) != 2 {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
		os.Unsetenv(name)
	}
	t.Setenv(prefix+"EMPTY", "")
	if err := unknownVariable(app(nil, nil).Commands); err != nil {
		t.Error(err)
	}
}
