package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// reached is the least that each example of training in a help text reaches, a little below
// what a plain estimator of scikit-learn does on the same data, or what guessing cannot.
// data are folders or files of HOGWILD_DATA under the names that the example has for them.
var reached = map[string]struct {
	field string
	least float64
	data  map[string]string
}{
	"train --workers 8": {"test_accuracy", 0.87,
		nil},
	"train --data digits.hog --workers 8": {"test_accuracy", 0.87,
		nil},
	"train --data mnist/ --model mlp:128 --lr 0.1 --epochs 5": {"test_accuracy", 0.96,
		map[string]string{"mnist": "mnist"}},
	"train --data a9a --test a9a.t --model logistic --batch 1 --l2 1e-4": {"test_accuracy", 0.84,
		map[string]string{"a9a": "a9a/a9a", "a9a.t": "a9a/a9a.t"}},
	"train --data housing.csv --target median_house_value --model linear": {"test_r2", 0.6,
		map[string]string{"housing.csv": "california-housing/housing.csv"}},
	"train --mode sync --workers 4 --average-every 1 --lr 0.1": {"test_accuracy", 0.9,
		nil},
	"train --mode clock:slow:8,2,4 --rule drop:8 --lr-cap off": {"test_accuracy", 0.9,
		nil},
	"train --data a9a --model logistic --batch 1 --workers 8 --tune": {"test_accuracy", 0.84,
		map[string]string{"a9a": "a9a/a9a"}},
	"train --data mnist/ --epochs 50 --dashboard 127.0.0.1:0": {"test_accuracy", 0.91,
		map[string]string{"mnist": "mnist"}},
	"train --data mnist/ --validation 0.1 --patience 5 --epochs 100": {"test_accuracy", 0.91,
		map[string]string{"mnist": "mnist"}},
	"train --resume runs/digits --epochs 20": {"test_accuracy", 0.88,
		nil},
	"train --data matrix.csv --test matrix.test.csv --model factor:10 --lr 0.05 --epochs 40": {"test_r2", 0.9, nil},
}

// needs is the commands that make what an example reads.
var needs = map[string]string{
	" runs/digits ": "train --run runs/digits --epochs 10 --quiet",
	" digits.hog ":  "data convert digits --out digits.hog",
	" matrix.csv ":  "data make lowrank:1000x1000x50000x10 matrix.csv",
}

// carryOutLine returns what a command prints; it must succeed.
func carryOutLine(t *testing.T, line string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if status := execute(strings.Fields(line), &out, &errs); status != 0 {
		t.Fatalf("hogwild %s: status %d\n%s", line, status, &errs)
	}
	return out.Bytes()
}

// TestHelpExamples runs each `hogwild train` of the help texts as it stands there, but for those that want a GPU or a
// program (TestPyTorchExamples has programs) or a file of PyTorch (run's TestInitFromPyTorch), and for what another one
// needs first.
func TestHelpExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	example := regexp.MustCompile(`(?m)^  hogwild (train .*)$`)
	seen := map[string]bool{}
	for _, c := range typed(app(io.Discard, io.Discard).Commands, "") {
		for _, m := range example.FindAllStringSubmatch(helpOf(c.Command).examples, -1) {
			line := m[1]
			want, ok := reached[line]
			if !ok {
				if !strings.Contains(line, "--gpu") && !strings.Contains(line, "--program") &&
					!strings.Contains(line, "--init") {
					t.Errorf("%s: what does this example reach? hogwild %s", c.name, line)
				}
				continue
			}
			seen[line] = true
			t.Run(line, func(t *testing.T) {
				folder := t.TempDir()
				for name, at := range want.data {
					if err := os.Symlink(check.Data(t, at), filepath.Join(folder, name)); err != nil {
						t.Fatal(err)
					}
				}
				t.Chdir(folder)
				for what, first := range needs {
					if strings.Contains(line, what) {
						carryOutLine(t, first)
					}
				}
				var result map[string]any
				if err := json.Unmarshal(carryOutLine(t, line+" --json --quiet"), &result); err != nil {
					t.Fatal(err)
				}
				if v, ok := result[want.field].(float64); !ok || v < want.least {
					t.Errorf("%s is %v, want %v at least", want.field, result[want.field], want.least)
				}
			})
		}
	}
	for line := range reached {
		if !seen[line] {
			t.Errorf("no help text has this example any more: hogwild %s", line)
		}
	}
}
