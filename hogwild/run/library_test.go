package run_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/workers"
	"hogwild/internal/check"
)

// TestRunInMemory: a run on data in memory leaves the bits that one on a file of the same numbers
// leaves, can be resumed, and is not resumed on other data.
func TestRunInMemory(t *testing.T) {
	m := &data.Memory{Name: "lines"}
	text := "a,b,y\n"
	for i := range 240 {
		a, b := float32(i%13), float32(i*7%11)
		m.Rows, m.Y = append(m.Rows, data.Row{Val: []float32{a, b}}), append(m.Y, 2*a-b)
		text += strings.Join([]string{num(a), num(b), num(2*a - b)}, ",") + "\n"
	}
	c := configtest.Quick(t)
	c.Workers, c.Model, c.Scale, c.Epochs, c.LR = 1, "linear", "standard", 2, .01
	fromFile := c
	fromFile.Run, fromFile.Data = t.TempDir(), filepath.Join(t.TempDir(), "lines.csv")
	if err := os.WriteFile(fromFile.Data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	runtest.Train(t, fromFile)
	c.Run = t.TempDir()
	result, err := run.Run(t.Context(), c, run.Options{TrainData: m})
	if err != nil || result.Data != "lines" {
		t.Fatal(result.Data, err)
	}
	want, got := runtest.MustOpen(t, fromFile.Run), runtest.MustOpen(t, result.Run)
	if d := cmp.Diff(want.Tensors(), got.Tensors()); d != "" {
		t.Errorf("the weights are not those of a run on a file:\n%s", d)
	}
	c = runtest.Resumed(c)
	c.Epochs = 3
	if result, err = run.Run(t.Context(), c, run.Options{TrainData: m}); err != nil || result.Epochs != 3 {
		t.Errorf("resumed: %d epochs, %v", result.Epochs, err)
	}
	m.Y[7]++
	c.Epochs = 4
	if _, err = run.Run(t.Context(), c, run.Options{TrainData: m}); !errors.Is(err, config.ErrUsage) {
		t.Errorf("other data: %v", err)
	}
	if _, err = run.Run(t.Context(), configtest.Quick(t), run.Options{TestData: m}); !errors.Is(err, config.ErrUsage) {
		t.Errorf("test data without training data: %v", err)
	}
}

func num(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// TestRunInMemoryPairs: several workers learn a matrix of rank one, and its values are predicted by
// the ids of pairs.
func TestRunInMemoryPairs(t *testing.T) {
	m := &data.Memory{}
	value := func(u, i int) float32 { return float32(1+u%3) * float32(2-i%4) / 4 }
	for u := range 20 {
		for i := range 30 {
			if (u+i)%5 > 0 {
				m.Pairs, m.Y = append(m.Pairs, [2]uint32{uint32(1000 + u), uint32(7 * i)}), append(m.Y, value(u, i))
			}
		}
	}
	c := configtest.Quick(t)
	c.Model, c.Batch, c.Epochs, c.LR, c.Workers, c.Run = "factor:2", 1, 150, .05, 2, t.TempDir()
	if _, err := run.Run(t.Context(), c, run.Options{TrainData: m}); err != nil {
		t.Fatal(err)
	}
	s := runtest.MustOpen(t, c.Run)
	var ask data.Memory
	var want []float32
	for u := range 20 {
		for i := range 30 {
			ask.Pairs, want = append(ask.Pairs, [2]uint32{uint32(1000 + u), uint32(7 * i)}), append(want, value(u, i))
		}
	}
	ask.Pairs = append(ask.Pairs, [2]uint32{3, 0})
	got, err := s.PredictData(&ask)
	if err != nil || len(got) != len(want)+1 || !math.IsNaN(float64(got[len(want)])) {
		t.Fatalf("%d values, %v", len(got), err)
	}
	for k := range want {
		if math.Abs(float64(got[k]-want[k])) > .1 {
			t.Fatalf("pair %v: %g, want %g", ask.Pairs[k], got[k], want[k])
		}
	}
	if _, err := s.Predict([]float32{1, 2}); !errors.Is(err, config.ErrUsage) {
		t.Errorf("rows for a model of pairs: %v", err)
	}
	if _, err := s.Probabilities(&ask); !errors.Is(err, config.ErrUsage) {
		t.Errorf("probabilities of values: %v", err)
	}
}

// TestPiecesMayBeKept: what PredictFile hands over stays as it is, piece after piece.
func TestPiecesMayBeKept(t *testing.T) {
	m := &data.Memory{}
	for i := range 600 { // of several pieces
		m.Pairs, m.Y = append(m.Pairs, [2]uint32{uint32(i / 30), uint32(i % 30)}), append(m.Y, float32(i%7))
	}
	c := configtest.Quick(t)
	c.Model, c.Batch, c.Epochs, c.Run = "factor:2", 1, 1, t.TempDir()
	if _, err := run.Run(t.Context(), c, run.Options{TrainData: m}); err != nil {
		t.Fatal(err)
	}
	var kept []*saved.Predictions
	_, err := runtest.MustOpen(t, c.Run).PredictFile(data.Inputs{Memory: m}, false, func(p *saved.Predictions) error {
		kept = append(kept, p)
		return nil
	})
	var ids [][2]uint32
	for _, p := range kept {
		ids = append(ids, p.IDs...)
	}
	if err != nil || len(kept) < 2 || !slices.Equal(ids, m.Pairs) {
		t.Errorf("%d pieces, %v: the ids are others than those of the data", len(kept), err)
	}
}

// TestEvalReadsAsTheRunDid: without data, weights of a run that had the same file with another scaling are not
// evaluated on it.
func TestEvalReadsAsTheRunDid(t *testing.T) {
	c := runtest.Overfitted(t)
	c.Epochs, c.Validation = 1, ""
	runtest.Train(t, c)
	if _, err := saved.Eval(c.Run, "", "", ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Run, rundir.WeightsFile)
	text, tensors, err := rundir.ReadTensors(path)
	if err != nil {
		t.Fatal(err)
	}
	text["hogwild.data"] = strings.NewReplacer(`"mul":`, `"was_mul":`, `"add":`,
		`"was_add":`).Replace(text["hogwild.data"])
	if err := rundir.WriteTensors(path, text, tensors); err != nil {
		t.Fatal(err)
	}
	_, err = saved.Eval(c.Run, "", "", "")
	check.Error(t, err, "or scaling than in the run that saved", "--data")
}

// TestTensors: the weights are the file's, by name and shape; a custom model without
// predictions has them too, and says that it has no predictions.
func TestTensors(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Epochs, c.Run, c.Data = "mlp:3", 1, t.TempDir(), "digits:300"
	runtest.Train(t, c)
	got := runtest.MustOpen(t, c.Run).Tensors()
	_, want, err := rundir.ReadTensors(filepath.Join(c.Run, rundir.WeightsFile))
	if err != nil || len(got) != 4 || len(want) != 4 {
		t.Fatal(len(got), len(want), err)
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(g saved.Tensor) bool { return g.Name == w.Name })
		if v, err := w.Floats(); err != nil || i < 0 || !slices.Equal(v, got[i].Values) ||
			!slices.Equal(w.Shape, got[i].Shape) {
			t.Errorf("%s of %v differs (%v)", w.Name, w.Shape, err)
		}
	}
	c.Model, c.Run = "slow", t.TempDir()
	runtest.Train(t, c)
	s := runtest.MustOpen(t, c.Run)
	if len(s.Tensors()) != 2 {
		t.Errorf("%d tensors", len(s.Tensors()))
	}
	if _, err := s.Predict(make([]float32, 784)); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "slow") {
		t.Errorf("a model without predictions: %v", err)
	}
}

// TestProbabilities: they add up to 1, the largest is the predicted class's, and losses that have
// none say so.
func TestProbabilities(t *testing.T) {
	rows := &data.Memory{}
	set, err := data.LoadLike("digits:300", "auto", "", mustTrain(t, "softmax", "").Meta())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for i := range set.Rows {
		x := make([]float32, set.Features)
		for j, v := range set.X8[i*set.Features:][:set.Features] {
			x[j] = float32(v)
		}
		rows.Rows = append(rows.Rows, data.Row{Val: x})
	}
	for _, c := range [][2]string{{"softmax", ""}, {"logistic", ""}, {"mlp:8", "logistic"}, {"conv:2@5p2,4", ""}} {
		s := mustTrain(t, c[0], c[1])
		got, err := s.Probabilities(rows)
		labels, err2 := s.PredictData(rows)
		if err != nil || err2 != nil || len(got) != set.Rows {
			t.Fatal(c, len(got), err, err2)
		}
		for i, p := range got {
			sum := 0.0
			for _, v := range p {
				sum += float64(v)
			}
			if best := slices.Index(p, slices.Max(p)); math.Abs(sum-1) > 1e-5 || best != int(labels[i]) {
				t.Fatalf("%v: row %d: %v add up to %g; the label is %g", c, i, p, sum, labels[i])
			}
		}
	}
	if _, err := mustTrain(t, "hinge", "").Probabilities(rows); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "hinge") {
		t.Errorf("hinge: %v", err)
	}
}

func mustTrain(t *testing.T, name, loss string) *saved.Saved {
	t.Helper()
	c := configtest.Quick(t)
	c.Model, c.Loss, c.Epochs, c.Run, c.Data = name, loss, 1, t.TempDir(), "digits:300"
	runtest.Train(t, c)
	return runtest.MustOpen(t, c.Run)
}

// TestRegisteredTwice: the next call returns the error.
func TestRegisteredTwice(t *testing.T) {
	if os.Getenv("HOGWILD_TEST_TWICE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=TestRegisteredTwice$", "-test.v")
		cmd.Env = append(os.Environ(), "HOGWILD_TEST_TWICE=1")
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "PASS") {
			t.Errorf("%v\n%s", err, text)
		}
		return
	}
	model.Register("slow", func(data.Meta) (model.Model, error) { return nil, nil })
	_, errLoad := run.Load(configtest.Quick(t), run.Options{})
	_, errRun := run.Run(t.Context(), configtest.Quick(t), run.Options{})
	_, errOpen := saved.Open("nowhere")
	_, errEval := saved.Eval("nowhere", "digits", "auto", "")
	for _, err := range []error{errRun, errLoad, errOpen, errEval} {
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), `"slow" is registered already`) {
			t.Errorf("error %v", err)
		}
	}
}

// TestRunInWorker: a worker that calls Run gets an error, and starts nothing.
func TestRunInWorker(t *testing.T) {
	t.Setenv(workers.RankVariable, "0")
	_, errRun := run.Run(t.Context(), configtest.Quick(t), run.Options{})
	_, errLoad := run.Load(configtest.Quick(t), run.Options{})
	for _, err := range []error{errRun, errLoad} {
		if err == nil || !strings.Contains(err.Error(), "IsWorker") {
			t.Errorf("error %v", err)
		}
	}
}

// blockedVariable makes TestSecondSignal's process run with an OnEpoch that never returns.
const blockedVariable = "HOGWILD_TEST_BLOCKED"

// TestSecondSignal: while OnEpoch blocks a first Ctrl-C waits for it, and a second one ends the
// process and its workers.
func TestSecondSignal(t *testing.T) {
	if dir := os.Getenv(blockedVariable); dir != "" {
		c := configtest.Quick(t)
		c.Run = dir
		_, _ = run.Run(context.Background(), c, run.Options{Signals: true, OnEpoch: func(rundir.EpochResult) {
			_ = os.WriteFile(filepath.Join(dir, "blocked"), nil, 0o666)
			select {}
		}})
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=TestSecondSignal$")
	cmd.Env = append(os.Environ(), blockedVariable+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "blocked")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("OnEpoch was never called")
		}
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	select {
	case err := <-ended:
		t.Fatalf("the first signal ended the process: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Errorf("ended with %v, want SIGINT", err)
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Fatal("the second signal did nothing")
	}
}
