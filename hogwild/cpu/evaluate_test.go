package cpu

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// TestNodesShareAnEvaluation: the scores of all nodes add up to the score of one that is alone, on every kind of
// set, also where some nodes have no row at all.
func TestNodesShareAnEvaluation(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "set.hog")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := data.Convert(t.Context(), data.Options{Path: "synth:dense:8000x9", Seed: 1}, cache,
		func(*data.Meta) error { return nil }, func(string, int, int) {}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, model string }{
		{"digits:7000", "softmax"}, {"synth:linear:5000x9", "linear"}, {"synth:sparse:6000x300x7", "logistic"},
		{"synth:lowrank:60x70x3000x4", "factor:3"}, {"synth:dblife:0.002", "cut:10"}, {cache, "logistic"},
	} {
		t.Run(c.model+" on "+filepath.Base(c.set), func(t *testing.T) {
			train, test, err := data.Load(data.Options{Path: c.set, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer train.Close()
			defer test.Close()
			job := tuning.AsAsked(configtest.Dense())
			job.Asked.Model, job.Asked.Workers = c.model, 2
			spec, err := model.Resolve(job.Asked.ModelOptions(), train.Meta)
			if err != nil {
				t.Fatal(err)
			}
			job.Asked.Loss = string(spec.Loss)
			want := scoreOf(t, job, train, test)
			if want.N != test.Rows || want.Loss == 0 {
				t.Fatalf("%+v of %d rows", want, test.Rows)
			}
			for _, nodes := range []int{1, 2, 3, 7} {
				job.Asked.Nodes = nodes
				var sum model.Score
				for job.Asked.Node = range nodes {
					sum.Add(scoreOf(t, job, train, test), 1)
				}
				same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
				if sum.N != want.N || sum.Correct != want.Correct || !same(sum.Loss, want.Loss) ||
					!same(sum.SqErr, want.SqErr) || !same(sum.Y, want.Y) || !same(sum.Y2, want.Y2) {
					t.Errorf("%d nodes: %+v, one has %+v", nodes, sum, want)
				}
			}
			job.Asked.Node, job.Asked.Nodes = 0, 2*test.Rows
			if s := scoreOf(t, job, train, test); s != (model.Score{}) {
				t.Errorf("node 0 of %d has no rows, and the score %+v", job.Asked.Nodes, s)
			}
			job.Asked.Nodes = 0
		})
	}
}

// scoreOf returns the score of first weights by one node.
func scoreOf(t *testing.T, job *tuning.Job, train, test *data.Set) model.Score {
	t.Helper()
	m, err := model.New(job.TrainedOptions(train), train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := control.CreateWeights(job, model.Size(m.Params()))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Seg.Close()
	setup, err := device.NewSetup(job, shared, train)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Backend{}.Own(setup)
	if err != nil {
		t.Fatal(err)
	}
	m.Init(shared.W, 3)
	for i := range shared.W { // linear models begin with zeros
		shared.W[i] += 0.01 * float32(i%7)
	}
	s, err := o.Score(shared.W, test)
	if err != nil {
		t.Fatal(fmt.Errorf("node %d of %d: %w", job.Asked.Node, job.Asked.Nodes, err))
	}
	return s
}

// TestEvaluationInDoublePrecision: of a linear model on sparse rows, whose rows are taken where they lie, loss and
// errors are as defined, also of outputs that no float64 has an exponential of.
func TestEvaluationInDoublePrecision(t *testing.T) {
	for name, of := range map[string]func(z, t float64) float64{
		"logistic": func(z, t float64) float64 { return max(0, -t*z) + math.Log1p(math.Exp(-math.Abs(z))) },
		"hinge":    func(z, t float64) float64 { return max(0, 1-t*z) },
	} {
		set, _, err := data.Load(data.Options{Path: "synth:sparse:2000x300x17", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.New(model.Options{Name: name, Bias: true}, set.Meta)
		if err != nil {
			t.Fatal(err)
		}
		for _, scale := range []float64{1, 1000} {
			w, loss, correct := make([]float32, set.Features+1), 0.0, 0
			for j := range w {
				w[j] = float32(scale * math.Sin(float64(j)))
			}
			for i, y := range set.Y {
				z := float64(w[set.Features])
				for k := set.Ptr[i]; k < set.Ptr[i+1]; k++ {
					z += float64(set.Val[k]) * float64(w[set.Idx[k]])
				}
				loss += of(z, float64(2*y-1))
				if (z > 0) == (y == 1) {
					correct++
				}
			}
			s, err := Evaluate([]model.Model{m}, w, set)
			if err != nil || s.N != set.Rows || s.Correct != correct || math.Abs(s.Loss-loss) > 1e-6*loss {
				t.Errorf("%s: %+v, %v; want loss %v, %d correct", name, s, err, loss, correct)
			}
		}
	}
}
