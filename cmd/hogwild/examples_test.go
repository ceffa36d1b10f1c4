package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

const examples = "../../examples"

// smaller is what each example is run with here: flags that make it small, and the least
// of what it must then reach. Guessing gets an accuracy of 0.1, of two classes 0.5, and an
// R2 of 0.
var smaller = map[string]struct {
	flags string
	field string
	least float64
}{
	"hogwild-mnist":        {"--data digits:3000 --epochs 3 --lr 0.1", "test_accuracy", 0.7},
	"sync-averaging":       {"--data digits:4000 --epochs 2 --lr 0.2", "test_accuracy", 0.6},
	"data-parallel":        {"--data synth:linear:6000x20 --epochs 6", "test_r2", 0.95},
	"snapshots-and-resume": {"--data digits:3000 --epochs 3 --lr 0.02", "test_accuracy", 0.5},
	"sparse-text":          {"--data synth:rcv1:0.01 --epochs 2", "test_accuracy", 0.55},
	"factorization":        {"--data synth:netflix:0.003 --epochs 3", "test_r2", 0.2},
	"convnet":              {"--data digits:3000 --epochs 3 --lr 0.05", "test_accuracy", 0.35},
}

// settingsFiles returns the examples but for mpijob.yaml, which is Kubernetes' (make mpijob-check).
func settingsFiles() ([]string, error) {
	files, err := filepath.Glob(examples + "/*.yaml")
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "mpijob.yaml" }), err
}

// Every example trains, with what its file says, at a small size; those that are not for
// hogwild train on cores have tests of their own.
func TestExamples(t *testing.T) {
	elsewhere := []string{"choose-devices", "staleness"}
	files, err := settingsFiles()
	if err != nil || len(files) != len(smaller)+len(elsewhere) {
		t.Fatalf("%d examples (%v), want %d", len(files), err, len(smaller)+len(elsewhere))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if slices.Contains(elsewhere, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			how := smaller[name]
			folder := t.TempDir()
			var out, progress bytes.Buffer
			args := []string{"train", "--config", file, "--run", folder, "--json"}
			if status := execute(append(args, strings.Fields(how.flags)...), &out, &progress); status != 0 {
				t.Fatalf("status %d\n%s", status, progress.String())
			}
			var result map[string]any
			if err := json.Unmarshal(out.Bytes(), &result); err != nil {
				t.Fatal(err)
			}
			if v, ok := result[how.field].(float64); !ok || v < how.least {
				t.Errorf("%s is %v, want %v at least", how.field, result[how.field], how.least)
			}
			if _, err := rundir.SavedConfig(folder); err != nil {
				t.Error(err)
			}
		})
	}
}

// The comment at the head of each example names commands with its own path.
func TestExamplesSayHow(t *testing.T) {
	command := regexp.MustCompile(`(?m)^#   hogwild (?:train|sweep|bench) .*`)
	files, _ := settingsFiles()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if first := command.FindString(string(text)); !strings.Contains(first, " examples/"+filepath.Base(file)) {
			t.Errorf("%s: its first command is %q", file, first)
		}
	}
}
