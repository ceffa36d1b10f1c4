package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// FuzzSettings: any file of --config is settings, or an error that names it. Settings that are valid
// are the same once config.yaml of a run has had them.
func FuzzSettings(f *testing.F) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"device_ids: [0, 1]\n", "bias: false\n", "lr: &a 0.1\nl2: *a\n",
		"mode: delayed:geometric:4\n", "gradient-delay: 100ns\n", "average-every: epoch\n",
		"\"lr\": !!str 1\n", "lr: 0x1p-3\n", "epochs: 1_0\n", "data: |\n  a\n  b\n",
		"{lr: 1, lr: 2}\n", "a: 1\n---\nb: 2\n", "# nothing\n", "max-memory: 4GiB\n",
		strings.Repeat("[", 16000), strings.Repeat("- ", 16000), strings.Repeat("a: {", 300)} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "settings.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		check.Bounded(t, 128<<20, func() {
			o, s, err := trainSettings()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.file(path); err != nil {
				if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), path) {
					t.Errorf("the error %v is not the user's, or does not name the file", err)
				}
				return
			}
			c, err := o.Config.Resolve()
			if err != nil {
				if !errors.Is(err, config.ErrUsage) {
					t.Errorf("the error %v is not the user's", err)
				}
				return
			}
			kept, err := yaml.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			again := config.Default()
			if err := config.UnmarshalYAML(kept, &again); err != nil || !cmp.Equal(c, again) {
				t.Errorf("%s came back with %v, and differs:\n%s", kept, err, cmp.Diff(c, again))
			}
		})
	})
}
