package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNextLine: the command that a report ends with, typed as it stands into a shell, has the loss
// of that report, for each kind of data and way to split it.
func TestNextLine(t *testing.T) {
	t.Chdir(t.TempDir())
	path := programOnPath(t)
	const files = "mkdir -p 'my data'\n" +
		"hogwild data make dense:300x4 'my data/rows.csv'\n" + // and rows.test.csv
		"hogwild data make linear:300x4 values.csv\n" +
		"hogwild data make linear:300x4 values.npy\n" +
		"hogwild data make sparse:300x40x5 rows.libsvm\n" +
		"hogwild data make lowrank:50x60x3000x2 m.csv\n" +
		"hogwild data make dblife:0.001 graph.csv\n" +
		"gzip -k values.csv\n"
	sh(t, path, files)
	for _, c := range []struct{ name, flags string }{
		{"digits", "--data digits:600"},
		{"seed", "--data digits:600 --seed 7 --limit 200 --model mlp:8"},
		{"held out", "--data 'my data/rows.csv' --scale standard --limit 100"},
		{"spaces", "--data 'my data/rows.csv' --test 'my data/rows.test.csv' --scale unit"},
		{"values", "--data values.csv.gz --model linear --target 2 --scale standard --lr 0.01"},
		{"numpy", "--data values.npy --target 5 --model l1 --lr 0.01"},
		{"libsvm", "--data rows.libsvm --format libsvm --model hinge --seed 3"},
		{"ratings", "--data m.csv --format ratings --model factor:2 --biases --lr 0.02"},
		{"graph", "--data graph.csv --model cut:10 --batch 1"},
		{"synthetic", "--data synth:sparse:500x40x5 --model logistic --seed 5"},
		{"centred", "--data digits:600 --center on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := "my runs/" + c.name
			said := sh(t, path, "hogwild train "+c.flags+" --workers 2 --epochs 2 --quiet --run '"+run+"'")
			var line string
			for l := range strings.Lines(said) {
				if rest, ok := strings.CutPrefix(l, "Next: hogwild eval "); ok {
					line = "hogwild eval " + strings.TrimSpace(rest)
				}
			}
			var want struct {
				Loss float64 `json:"test_loss"`
			}
			text, err := os.ReadFile(filepath.Join(run, "result.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil || line == "" {
				t.Fatalf("no result (%v), or no next line in:\n%s", err, said)
			}
			var got struct{ Loss float64 }
			if err := json.Unmarshal([]byte(sh(t, path, line+" --json")), &got); err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(got.Loss - want.Loss); !(d <= 1e-6*math.Abs(want.Loss)) {
				t.Errorf("%s: loss %v, the report has %v", line, got.Loss, want.Loss)
			}
		})
	}

	// Rows that have changed since the run are not passed off as its rows.
	sh(t, path, "cp values.csv other.csv; hogwild train --data other.csv --model linear --lr 0.01 --workers 1 "+
		"--epochs 1 --quiet --run other; sed -i 2d other.csv")
	if said := sh(t, path, "hogwild eval other 2>&1 || echo status $?"); !strings.Contains(said,
		"other.csv has changed since the run") || !strings.Contains(said, "status 2") {
		t.Error(said)
	}
}

// programOnPath returns a PATH on which hogwild is this program.
func programOnPath(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	folder := t.TempDir()
	if err == nil {
		err = os.Symlink(file, filepath.Join(folder, "hogwild"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder + ":" + os.Getenv("PATH")
}

// sh has a shell carry out a line, and returns what it says.
func sh(t *testing.T, path, line string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("sh", "-ec", line)
	cmd.Env = append(os.Environ(), "PATH="+path)
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, said, &stderr)
	}
	return string(said)
}
