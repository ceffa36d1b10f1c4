package bench

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

const fuzzAlloc = 128 << 20

// FuzzPlan: any file is an experiment with cases and seeds, or an error that names the file.
func FuzzPlan(f *testing.F) {
	for _, name := range []string{"small-sets", "paper", "tutorial", "speedrun"} {
		if text, err := plans.ReadFile("plans/" + name + ".yaml"); err == nil {
			f.Add(text)
		}
	}
	for _, text := range []string{"data: digits\ngrid:\n  lr: [0.1, 0.2]\n  workers: [1, 2, 4]\nseeds: 3\n",
		"cases:\n  - lr: 1\n  - {lr: 2, name: b}\n", "a: 1\n---\nb: 2\n",
		"seeds: [1, 1]\n", "seeds: 1e9\n", "grid:\n  lr: &x [1]\n  l2: *x\n", strings.Repeat("[", 16000),
		strings.Repeat("- ", 16000), strings.Repeat("a: {", 300), "? a\n: b\n", "a: |\n b\n", "!!binary a: b\n",
		"grid:\n" + strings.Repeat("  a: [1,2,3,4,5,6,7,8,9,10]\n", 10)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Bounded(t, fuzzAlloc, func() {
			p, err := ReadPlan("plan.yaml", text, nil)
			if err != nil {
				if !errors.Is(err, config.ErrUsage) || !strings.HasPrefix(err.Error(), "plan.yaml") {
					t.Errorf("the error %v is not the user's, or does not begin with the file", err)
				}
				return
			}
			if len(p.Cases) == 0 || len(p.Seeds) == 0 || p.Name == "" {
				t.Errorf("%d cases, %d seeds, name %q", len(p.Cases), len(p.Seeds), p.Name)
			}
		})
	})
}

// FuzzTrial: a trial or the results of an experiment is read, or is an error; what was read is
// written and read again.
func FuzzTrial(f *testing.F) {
	f.Add([]byte(
		`{"case":"a","settings":[{"flag":"lr","value":"1"}],"seed":1,"took":1,"config":{"workers":2},"result":{"test_loss":null},"history":[{"epoch":1}]}`))
	f.Add([]byte(
		`{"kind":"sweep","name":"s","seeds":[1],"cases":[{"name":"a","settings":[],"runs":[{"seed":1,"test_loss":0.5}]}]}`))
	f.Add([]byte(`{"history":null,"config":{"mode":"delayed:3"}}`))
	f.Add([]byte(strings.Repeat(`{"a":`, 20000)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{trialFile, resultsFile} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		check.Bounded(t, fuzzAlloc, func() {
			if r, err := readTrial(dir); err == nil {
				again, err := json.Marshal(r)
				if err != nil {
					t.Errorf("a trial was read and cannot be written: %v", err)
				}
				if err := json.Unmarshal(again, &trial{}); err != nil {
					t.Errorf("%s cannot be read again: %v", again, err)
				}
			}
			e, err := ReadExperiment(dir)
			if err != nil && !errors.Is(err, config.ErrUsage) {
				t.Errorf("%v: want an error of the user's", err)
			}
			if err == nil {
				if _, err := json.Marshal(e); err != nil {
					t.Errorf("an experiment was read and cannot be written: %v", err)
				}
			}
		})
	})
}
