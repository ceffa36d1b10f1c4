//go:build cuda

package cuda

import (
	"math"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// TestNodesShareAnEvaluation: the scores of all nodes add up to the score of one alone, also where a node has no row.
func TestNodesShareAnEvaluation(t *testing.T) {
	train, test, err := data.Load(data.Options{Path: "digits:1500", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	defer test.Close()
	c := configtest.Dense()
	c.Model, c.Loss, c.Workers, c.GPU = "softmax", "cross-entropy", 1, "0"
	want := scoreOf(t, c.Node, c.Nodes, tuning.AsAsked(c), train, test)
	if want.N != test.Rows || want.Loss == 0 {
		t.Fatalf("%+v of %d rows", want, test.Rows)
	}
	for _, nodes := range []int{2, 3} {
		var sum model.Score
		for node := range nodes {
			sum.Add(scoreOf(t, node, nodes, tuning.AsAsked(c), train, test), 1)
		}
		if sum.N != want.N || sum.Correct != want.Correct || math.Abs(sum.Loss-want.Loss) > 1e-9*want.Loss {
			t.Errorf("%d nodes: %+v, one has %+v", nodes, sum, want)
		}
	}
	if s := scoreOf(t, 0, 2*test.Rows, tuning.AsAsked(c), train, test); s != (model.Score{}) {
		t.Errorf("a node without rows has the score %+v", s)
	}
}

// scoreOf is the score of first weights by one node.
func scoreOf(t *testing.T, node, nodes int, job *tuning.Job, train, test *data.Set) model.Score {
	t.Helper()
	job.Asked.Node, job.Asked.Nodes = node, nodes
	m, err := model.New(job.TrainedOptions(train), train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := control.CreateWeights(job, model.Size(m.Params()))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Seg.Close()
	m.Init(shared.W, 3)
	setup, err := device.NewSetup(job, shared, train)
	if err != nil {
		t.Fatal(err)
	}
	o, err := backend{}.Own(setup)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	s, err := o.Score(shared.W, test)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
