package ability

import (
	"math"
	"slices"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/machine"
)

// Dual returns what the solver dual needs besides its steps (model.Dual): it measures how far the weights have drifted
// from the sum of the dual variables times their rows, which is what racing has lost; takes the sum for the weights;
// and measures the duality gap, which bounds the distance from the optimum.
func Dual() core.Ability { return &dual{} }

type dual struct {
	sum   []float64   // of the dual variables times their rows
	part  [][]float64 // of it, for each core
	w     []float32   // the weights that are measured
	found gapFigures
	fresh bool // they are of the last epoch
}

// gapFigures are the figures of an epoch.
type gapFigures struct {
	loss, objective, gap, drift float64
}

// Handle measures when an epoch is complete, and adds what it found to the epoch's figures.
func (a *dual) Handle(r *core.Run, e core.Event) error {
	c := &r.Job.Asked
	if !c.Ascends() {
		return nil
	}
	switch e := e.(type) {
	case *core.Read:
		if c.Sample > 0 {
			return config.Usage("solver dual has no learning rate to tune; leave tune out")
		}
		c.Ascend()
		return checkData(r.Task.Train)
	case *core.Settled:
		if !r.Task.Spec.Loss.HasDual() || !model.SuitsDual(e.Plain, r.Task.Train) {
			return config.Usage("solver dual with model %s, loss %s: it trains linear models by the hinge, "+
				"squared-hinge and logistic losses; use model hinge, squared-hinge or logistic", c.Model, c.Loss)
		}
	case *core.Resumes:
		if e.At != nil && len(e.At.History) > 0 {
			a.found.loss = e.At.History[len(e.At.History)-1].TrainLoss
		}
	case *core.Completes:
		due := measures(int(r.Position.Epoch), c.TargetGap)
		if a.fresh = due || e.Last; a.fresh {
			return a.measure(r, due)
		}
	case *core.Evaluates:
		f := &a.found
		if e.Epoch.TrainLoss = f.loss; !a.fresh {
			return nil
		}
		e.Epoch.TrainMetrics = map[string]float64{"objective": f.objective, "gap": f.gap,
			"relative_gap": f.gap / f.objective, "dual_drift": f.drift}
	}
	return nil
}

// gapEvery is how many epochs lie between two measurements, which take about as long as an epoch each. The first and
// the last epoch have one, too, and a run with a target some of the first, since many sets take no ten epochs. Time has
// no part in it: one worker's run has the same bits each time.
const gapEvery = 10

// measures reports whether a measurement is due when an epoch is complete.
func measures(epoch int, target float64) bool {
	return epoch == 1 || epoch%gapEvery == 0 || target > 0 && slices.Contains([]int{2, 3, 4, 6, 8, 15}, epoch)
}

// rounding is a drift that is no more than what float32 rounds.
const smallDrift = 1e-4

// checkData refuses data without two classes and sparse rows.
func checkData(s *data.Set) error {
	switch {
	case !s.Sparse():
		return config.Usage("solver dual: the rows of %s are dense; give sparse ones (format libsvm), or use solver "+
			"sgd", s.Name)
	case len(s.Classes) != 2:
		return config.Usage("solver dual: %s has %d classes, and it tells two apart; use solver sgd", s.Name,
			len(s.Classes))
	case s.Streams():
		return config.Usage("solver dual: %s does not fit into memory; use solver sgd", s.Name)
	}
	return nil
}

// measure takes the exact sum for the weights while no worker trains. Where no measurement is due, since only this run
// ends here, it leaves weights that are near enough: one that resumes it has the bits of a longer one.
func (a *dual) measure(r *core.Run, due bool) error {
	m, c := r.Mem.Weights, r.Job.Asked
	if a.sum == nil {
		a.sum, a.w = make([]float64, len(m.W)), make([]float32, len(m.W))
		a.part = make([][]float64, machine.Cores())
	}
	value := a.add(r.Task.Train, m.Dual, r.Task.Spec, 1/(c.L2*float64(len(m.Dual))))
	var apart, square, norm2 float64
	for j, v := range a.sum {
		apart += (v - float64(m.W[j])) * (v - float64(m.W[j]))
		square += v * v
	}
	f := &a.found
	f.drift = math.Sqrt(apart / max(square, math.SmallestNonzeroFloat64))
	if due || !(f.drift < smallDrift) {
		for j, v := range a.sum {
			m.W[j] = float32(v)
		}
	}
	copy(a.w, m.W)
	for _, v := range a.w {
		norm2 += float64(v) * float64(v)
	}
	r.Mem.Owner.Await()
	s, err := r.Mem.Owner.Score(a.w, r.Task.Train)
	if err != nil {
		return core.OnDevice(err)
	}
	n := float64(s.N)
	f.loss, f.objective = s.Loss/n, s.Loss/n+c.L2/2*norm2
	f.gap = max(0, f.objective-(value/n-c.L2/2*square))
	return nil
}

// add forms the sum, and returns the dual objective's sum over the rows.
func (a *dual) add(set *data.Set, now []float64, spec model.Spec, c float64) (value float64) {
	var busy sync.WaitGroup
	values := make([]float64, len(a.part))
	for k := range a.part {
		busy.Go(func() {
			from, to := k*len(now)/len(a.part), (k+1)*len(now)/len(a.part)
			if a.part[k] == nil {
				a.part[k] = make([]float64, len(a.sum))
			}
			for i := from; i < to; i++ {
				v := math.Abs(now[i])
				if weight := float64(set.WeightOf(int32(i))); weight > 0 {
					values[k] += weight * dualValue(spec.Loss, v/(c*weight))
				}
				if v != 0 {
					addRow(a.part[k], set, i, v*float64(2*set.Y[i]-1), spec.Bias)
				}
			}
		})
	}
	busy.Wait()
	clear(a.sum)
	for k, part := range a.part {
		for j, v := range part {
			a.sum[j] += v
		}
		clear(part)
		value += values[k]
	}
	return value
}

// addRow adds f times a row to sum, whose last number is the bias's.
func addRow(sum []float64, set *data.Set, i int, f float64, bias bool) {
	from, to := set.Ptr[i], set.Ptr[i+1]
	idx, val := set.Idx[from:to], set.Val[from:to]
	for k, j := range idx {
		sum[j] += f * float64(val[k])
	}
	if bias {
		sum[len(sum)-1] += f
	}
}

// dualValue returns what a row with the dual variable b, in units of C, adds to the dual objective.
func dualValue(loss model.Loss, b float64) float64 {
	switch loss {
	case model.Hinge:
		return b
	case model.SquaredHinge:
		return b - b*b/4
	}
	if b <= 0 || b >= 1 {
		return 0
	}
	return -b*math.Log(b) - (1-b)*math.Log(1-b)
}
