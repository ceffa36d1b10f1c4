package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"

	"hogwild/internal/check"
)

// trained is what a test looks at of the result of a run with a program.
type trained struct {
	TestLoss     float64 `json:"test_loss"`
	TestAccuracy float64 `json:"test_accuracy"`
}

// trainProgram runs a Python script in a run folder.
func trainProgram(t *testing.T, folder string, script []string, flags string) (r trained) {
	t.Helper()
	python := check.Interpreter(t, "torch, numpy, safetensors")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	args := append([]string{"train", "--program", shellquote.Join(append([]string{python}, script...)...), "--run",
		folder, "--json"}, strings.Fields(flags)...)
	var out, progress bytes.Buffer
	if status := execute(args, &out, &progress); status != 0 {
		t.Fatalf("status %d\n%s", status, progress.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// override returns a command line with other values: flags are names and values in turn, which replace those in args
// or follow them.
func override(args []string, flags ...string) []string {
	args = slices.Clone(args)
	for i := 0; i < len(flags); i += 2 {
		name, value := flags[i], flags[i+1]
		if at := slices.Index(args, name); at >= 0 {
			args[at+1] = value
		} else {
			args = append(args, name, value)
		}
	}
	return args
}

// A run has the weights of the same loop written by hand, with torch.optim.SGD, on the rows that the workers say they
// had. So is its test loss, of the weights as PyTorch loads them.
func TestProgramSteps(t *testing.T) {
	const seed, lr, l2 = 7, 0.05, 0.01
	for _, c := range []struct {
		name, kind      string
		workers, epochs int
		mode            string
		within          float64
	}{
		{"one worker", "normal", 1, 1, "async", 1e-6},
		{"the joint batch of four", "plain", 4, 2, "sync --average gradients", 1e-5},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, rows := t.TempDir(), t.TempDir()
			flags := fmt.Sprintf("--workers %d --mode %s --epochs %d --batch 16 --lr %v --l2 %v --seed %d --schedule "+
				"constant", c.workers, c.mode, c.epochs, lr, l2, seed)
			r := trainProgram(t, folder, []string{"testdata/program/steps.py", rows, c.kind}, flags)
			again := []string{"testdata/program/again.py", folder + "/weights.safetensors",
				fmt.Sprint(r.TestLoss), c.kind,
				fmt.Sprint(seed), fmt.Sprint(lr), fmt.Sprint(l2), fmt.Sprint(c.epochs)}
			for rank := range c.workers {
				again = append(again, filepath.Join(rows, fmt.Sprint(rank)))
			}
			var steps int
			var apart, loss float64
			text := python3(t, nil, check.Interpreter(t, "torch"), again...)
			if _, err := fmt.Sscan(text, &steps, &apart, &loss); err != nil {
				t.Fatal(err, text)
			}
			t.Logf("%d steps: the weights differ by %.1e, the test loss by %.1e", steps, apart, loss)
			if want := 200 * c.epochs / c.workers; steps != want || !(apart <= c.within) || !(loss <= 1e-5) {
				t.Errorf("%d steps, want %d; the weights differ by %.1e, want %.0e at most; the test loss by %.1e",
					steps, want, apart, c.within, loss)
			}
		})
	}
}

// Programs of several kinds learn with two workers: what they reach is well below the loss of a
// constant, and well above the accuracy of a guess.
func TestProgramsLearn(t *testing.T) {
	imdb, housing := check.Data(t, "imdb/imdb_ltc_train.gz"), check.Data(t, "california-housing/housing.csv")
	for _, c := range []struct {
		name, script, flags string
		loss, accuracy      float64 // at most, at least
	}{
		{"augmented images", "images.py", "--epochs 5 --batch 16", 0.4, 0.85},
		{"averaged BatchNorm", "images.py", "--epochs 5 --batch 16 --mode sync --average-every 4", 0.4, 0.85},
		{"bag of words", "bag.py", "--data " + imdb + " --limit 8000 --epochs 3 --batch 8 --lr 2", 0.55, 0.75},
		{"two inputs", "houses.py " + housing, "--epochs 10 --batch 16 --lr 0.05", 0.6, 0}, // the median's is 0.87
	} {
		t.Run(c.name, func(t *testing.T) {
			script := strings.Fields("testdata/program/" + c.script)
			r := trainProgram(t, t.TempDir(), script, c.flags+" --workers 2")
			t.Logf("test loss %.3f, accuracy %.3f", r.TestLoss, r.TestAccuracy)
			if !(r.TestLoss <= c.loss) || !(r.TestAccuracy >= c.accuracy) {
				t.Errorf("test loss %.3f, want %.2f at most; accuracy %.3f, want %.2f at least", r.TestLoss, c.loss,
					r.TestAccuracy, c.accuracy)
			}
		})
	}
}

// The guide's script learns with the guide's command, on a part of the data.
func TestProgramGuide(t *testing.T) {
	mnist := check.Data(t, "mnist")
	page, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	line := regexp.MustCompile(`(?m)^    hogwild train --program 'python3 step.py' (.*)$`).FindSubmatch(page)
	if code == nil || line == nil {
		t.Fatal("docs/programs.md has no script, or no command")
	}
	script := filepath.Join(t.TempDir(), "step.py")
	if err := os.WriteFile(script, code[1], 0o666); err != nil {
		t.Fatal(err)
	}
	flags := override(strings.Fields(string(line[1])), "--data", mnist, "--limit", "10000", "--epochs", "2",
		"--workers", "2")
	r := trainProgram(t, t.TempDir(), []string{script}, strings.Join(flags, " "))
	t.Logf("accuracy %.3f", r.TestAccuracy)
	if !(r.TestAccuracy >= 0.85) {
		t.Errorf("accuracy %.3f, want 0.85", r.TestAccuracy)
	}
}
