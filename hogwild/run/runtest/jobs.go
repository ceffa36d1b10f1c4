package runtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// Near fails the test unless got is want but for the rounding of float32.
func Near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > 2e-5*(1+math.Abs(want[i])) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
		}
	}
}

// Doubles returns v in double precision.
func Doubles(v []float32) (w []float64) {
	for _, x := range v {
		w = append(w, float64(x))
	}
	return w
}

// Finite reports whether all numbers are finite.
func Finite(v []float32) bool {
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// Linear returns a run of the tests' program, on its own examples, at a constant rate.
func Linear(t *testing.T, tricks string) config.Config {
	c := configtest.Quick(t)
	c.Program, c.Data, c.LR = "/proc/self/exe own=400 "+tricks, "none", 0.3
	c.Center, c.BiasStep, c.LRCap = "auto", "auto", "auto"
	return c
}

// Divergent returns a run that diverges with learning rate lr and with half of it, and not with a quarter.
func Divergent(t *testing.T) (c config.Config, lr float64) {
	t.Helper()
	c = configtest.Quick(t)
	c.Data, c.Model, c.Workers, c.Batch, c.Epochs, c.LR, c.LRCap = configtest.Planted(t), "linear", 1, 8, 2, 0.01, "off"
	return c, 6
}

// trainingSet returns the set that a run of c trains on, until the test ends.
func trainingSet(t *testing.T, c config.Config) *data.Set {
	t.Helper()
	train, test, err := data.Load(data.Options{Path: c.Data, Seed: c.Seed, Limit: c.Limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// Begun returns what a run of c begins with: its training set, and its plain model.
func Begun(t *testing.T, c config.Config) (*data.Set, model.Model) {
	t.Helper()
	train := trainingSet(t, c)
	m, err := model.New(c.ModelOptions(), train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return train, m
}

// AddTo does w += a g, product by product. The bits depend on which two of the three
// factors meet first: with one output a and the delta, else a and the input.
func AddTo(w []float32, a float32, g model.Gradient) {
	for _, p := range g.Parts {
		for i, v := range p.G {
			w[p.Offset+i] += a * v
		}
		for i, x := range p.X {
			delta := p.D[i*p.Out : (i+1)*p.Out]
			for n, v := range x.Val {
				j := n
				if x.Idx != nil {
					j = int(x.Idx[n])
				}
				for k, d := range delta {
					if p.Out == 1 {
						w[p.Offset+j] += a * d * v
					} else {
						w[p.Offset+j*p.Out+k] += a * v * d
					}
				}
			}
			for k, d := range delta {
				if p.Bias >= 0 {
					w[p.Bias+k] += a * d
				}
			}
		}
	}
}

// SparseFile writes two classes that a few of many features tell apart, all values multiplied
// by scale.
func SparseFile(t *testing.T, scale float64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var text strings.Builder
	for range 600 {
		class := r.IntN(2)
		fmt.Fprint(&text, 2*class-1)
		for j := 1; j <= 60; j++ {
			if r.Float64() < 0.1+0.2*float64(class*(j%2)) {
				fmt.Fprintf(&text, " %d:%.5f", j, scale*(r.NormFloat64()+float64(class)))
			}
		}
		text.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "two.libsvm")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// SavedWeights returns the weights that a run has left, in the order of memory.
func SavedWeights(t *testing.T, dir string) []float32 {
	t.Helper()
	f, err := rundir.ReadSaved(filepath.Join(dir, rundir.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(f.Job.Asked.ModelOptions(), f.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Weights(m.Params())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Overfitted returns a run on 40 rows of 60 features, only one with information: its validation loss
// falls for some epochs, and rises when the noise is learned.
func Overfitted(t *testing.T) config.Config {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for range 80 {
		x, cells := 0.0, make([]string, 61)
		for j := range 60 {
			v := r.NormFloat64()
			if j == 0 {
				x = v
			}
			cells[j+1] = fmt.Sprintf("%.4f", v)
		}
		cells[0] = fmt.Sprintf("%.4f", x+r.NormFloat64())
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	c := configtest.Quick(t)
	c.Data, c.Target, c.Model, c.Batch, c.LR, c.Epochs = filepath.Join(t.TempDir(), "noise.csv"), "1", "linear", 4,
		0.002, 60
	c.Validation = "0.4"
	if err := os.WriteFile(c.Data, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}
