package ability

import (
	"errors"
	"fmt"

	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// Exact has the last word in a linear regression. Where columns go together SGD ends far from the optimum, in silence.
// The optimum of the same objective solves a linear system: when the last epoch is complete, the run takes it for its
// weights if SGD has not come there.
func Exact() core.Ability { return &exact{} }

// exact is what is known of the epoch that is evaluated next.
type exact struct {
	objectives map[string]float64 // nil: the optimum was not looked for
	taken      bool
	loss       float64 // of the optimum
}

const (
	mostColumns = 2000
	// The matrix costs rows x columns² multiplications: cheap at most, or as long as training, whose multiplications
	// take some 25 times as long.
	cheap, asTraining = 1e11, 50

	matters  = 1e-3 // of the optimum's objective: SGD that is so far above it gives way
	farAbove = 50   // times as far: SGD's weights, where they stay, get a warning

	// On fewer rows for each weight the optimum may predict other rows worse than SGD, which has not come so far: it
	// has to be better by its leave-one-out error than SGD on the rows that it was trained on.
	rowsPerWeight = 10
)

const notKnown = "the weights are SGD's, and how far they are from the optimum is not known: "

// Handle looks for the optimum when the last epoch is complete, or one that patience may make the last.
func (a *exact) Handle(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case *core.Completes:
		*a = exact{}
		best, patience := rundir.Best(r.Position.History), r.Job.Asked.Patience
		if (e.Last || patience > 0 && best != nil && int(r.Position.Epoch)-best.Epoch >= patience) && seeksOptimum(r) {
			return a.measure(r)
		}
	case *core.Evaluates:
		if a.objectives != nil {
			e.Epoch.TrainMetrics = a.objectives
		}
		if a.taken {
			e.Epoch.TrainLoss = a.loss
		}
	}
	return nil
}

// suits reports whether the optimum is to be looked for: with solver sgd only to warn. It says why it is not.
func seeksOptimum(r *core.Run) bool {
	c, set, why := &r.Job.Asked, r.Task.Train, ""
	n, d := float64(set.Rows), float64(set.Features)
	switch {
	case !r.Task.Spec.LeastSquares() || c.L1 != 0 || c.Mode.Traits().Simulated || c.Sample > 0 ||
		r.Task.Borrowed && r.Options.Sets == nil ||
		!c.SeeksOptimum() && r.Options.Quiet:
		return false
	case r.Several():
		why = "the job has several nodes"
	case set.Streams():
		why = set.Name + " does not fit into memory"
	case d > mostColumns || n*d*d > cheap && n*d > asTraining*float64(r.Position.Examples):
		why = fmt.Sprintf("%s rows of %s columns would take too long", human.Count(int64(n)), human.Count(int64(d)))
	default:
		return true
	}
	if c.SeeksOptimum() && !set.Sparse() {
		r.Report.Tell(notKnown + why)
	}
	return false
}

// measure compares SGD's weights with the optimum, and takes that for the run's weights where it is to be.
func (a *exact) measure(r *core.Run) error {
	m, merged, c := r.Mem.Weights, r.Job.Used.MergesCentered(), &r.Job.Asked
	if err := r.Mem.CallDevice(r.Mem.CopyTimeout(), r.Mem.Owner.Download); err != nil {
		return err
	}
	p := problem{set: r.Task.Train, bias: r.Task.Spec.Bias, l2: c.L2 / 2, cores: min(machine.Cores(), mostCores)}
	plain := append([]float32(nil), r.Job.Plain(r.Task.Trained, m.W, r.Task.Train.Mean)...)
	before, sgd, err := p.score(plain)
	if err != nil {
		return err
	}
	w, err := p.solve()
	if errors.Is(err, errHuge) {
		r.Report.Tell(notKnown + err.Error())
		return nil
	}
	if err != nil || !(before <= score.Far*p.variance) { // it has diverged, as the evaluation says
		return err
	}
	for j := range plain {
		plain[j] = float32(w[j])
	}
	loss, objective, err := p.score(plain)
	if err != nil {
		return err
	}
	a.loss, a.objectives = loss, map[string]float64{"objective": min(sgd, objective), "sgd_objective": sgd}
	over, small := sgd-objective, matters*objective+leastOver*p.variance
	free := 1 - float64(len(w))/float64(r.Task.Train.Rows)
	what := "the weights are those of the exact optimum"
	switch {
	case !(over > small):
		return nil
	case free < 1-1./rowsPerWeight && (free <= 0 || loss/(free*free) >= before):
		what = "the weights are SGD's, since the optimum on so few rows may predict others worse"
	case c.SeeksOptimum():
		a.taken = true
	case over > farAbove*small:
		what = "SGD ended far above the exact optimum, which --solver auto takes"
	default:
		return nil
	}
	r.Report.Tell(fmt.Sprintf("%s: objective %s, SGD came to %s", what, human.Loss(objective), human.Loss(sgd)))
	if !a.taken {
		return nil
	}
	clear(m.W[copy(m.W, plain):])
	if c, ok := model.CenteredOf(r.Task.Trained); ok && merged {
		c.ToMerged(m.W, r.Task.Train.Mean)
	}
	return r.Mem.CallDevice(r.Mem.CopyTimeout(), r.Mem.Owner.Replace)
}
