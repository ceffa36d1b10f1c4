package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBestWeights: of a sweep's cases the best one keeps the weights of its first seed, and the results say where; a
// bench keeps none.
func TestBestWeights(t *testing.T) {
	for _, c := range []struct {
		kind  string
		seeds []uint64
		want  []string
	}{
		{"sweep", []uint64{1}, []string{"good.1"}}, {"sweep", []uint64{2, 1}, []string{"good.2"}},
		{"bench", []uint64{1}, nil},
	} {
		r := aRunner(t)
		p := aPlan(c.seeds, "diverge", "good", "also")
		p.Kind = c.kind
		e, err := r.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, run := range globbed(t, filepath.Join(r.Folder, "runs", "*", "weights.safetensors")) {
			left = append(left, filepath.Base(filepath.Dir(run)))
		}
		if diff := cmp.Diff(c.want, left); diff != "" {
			t.Errorf("%s %v: %s", c.kind, c.seeds, diff)
		}
		for _, m := range e.Cases {
			if kept := m.Weights != ""; kept != (c.kind == "sweep" && m.Name == "good") {
				t.Errorf("%s: the weights of %s are in %q", c.kind, m.Name, m.Weights)
			}
		}
		commands := e.BestCommands(e.of(""))
		predicts := "hogwild predict " + filepath.Join(r.Folder, "runs", "good")
		if (c.kind == "sweep") != strings.Contains(commands, predicts) {
			t.Errorf("%s: %s", c.kind, commands)
		}
		if left := globbed(t, filepath.Join(r.Folder, "data.tmp")); left != nil {
			t.Errorf("%v is left", left)
		}
	}
}

// TestDataAreShared: runs with the same seed on the same data have a folder for them, others have none.
func TestDataAreShared(t *testing.T) {
	r := aRunner(t)
	script := filepath.Join(t.TempDir(), "note.sh")
	note := `for a in "$@"; do case $a in --run=*) run=${a#*=} ;; esac; done
mkdir -p "$run"; [ -z "$HOGWILD_KEPT" ] || [ ! -d "$HOGWILD_KEPT" ] || touch "$run/shared"; exit 1`
	if err := os.WriteFile(script, []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Program = []string{"/bin/sh", script}
	p := aPlan([]uint64{1}, "a", "b", "alone")
	p.Cases[2].Settings = append(p.Cases[2].Settings, Setting{"limit", "7"})
	if _, err := r.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range globbed(t, filepath.Join(r.Folder, "runs", "*", "shared")) {
		got = append(got, filepath.Base(filepath.Dir(f)))
	}
	if diff := cmp.Diff([]string{"a.1", "b.1"}, got); diff != "" {
		t.Error(diff)
	}
}

// globbed are the files of a pattern.
func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
