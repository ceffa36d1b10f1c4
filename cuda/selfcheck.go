//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/plan"
)

// selfCheck takes one step of the run's kernel on random weights and the first rows
// of an epoch, and compares it with the CPU's. A driver, a compiler or a GPU
// that computes something else is found out before it trains anything. The run's
// weights are not there yet: their memory serves.
func (o *owner) selfCheck() error {
	wrong, err := tried(o.disagrees)
	if err == nil && wrong != "" {
		err = fmt.Errorf("self-check of %s on %s: %s, also with other weights: do not trust this GPU or driver",
			o.idle.step.name, o.Traits().Name, wrong)
	}
	return err
}

// tries is how many random weights may disagree. Rounding decides on which side of a kink a
// unit falls that is zero but for it, or which of two equals a pooling takes: the gradient is
// then another, and neither is wrong. That is rare, and other weights do not meet it again; a
// wrong kernel is wrong with any.
const tries = 3

// tried makes a few trials until one finds nothing wrong. If none does, it returns what the last one found.
func tried(trial func(number uint64) (wrong string, err error)) (wrong string, err error) {
	for i := range uint64(tries) {
		if wrong, err = trial(i + 1); err != nil || wrong == "" {
			return "", err
		}
	}
	return wrong, nil
}

// disagrees says what the step leads to, and what the CPU's, where those differ.
func (o *owner) disagrees(trial uint64) (wrong string, err error) {
	w := trialWeights(o.memory.layout.P, o.handle.Nonce, trial)
	stored := o.memory.layout.bytesOf(w)
	_ = o.memory.layout.read(w, func(b []byte) error { copy(b, stored); return nil })
	order := o.setup.Order(0)
	n := o.setup.Job.Used.Batch
	if o.idle.family == &skipGram {
		n = 64 // one word may be left out
	}
	rows := make([]int32, min(n, order.N, 64))
	order.Fill(rows, 0, 0)
	const rate = 0.5
	want := append([]float32(nil), w...)
	loss := cpu.TryStep(o.setup, want, rows, rate)
	got, lossThere, err := o.oneStep(w, len(rows), rate)
	if err != nil {
		return "", err
	}
	if onTensorCores(o.idle.step.name) {
		return o.far(w, got, want, lossThere, loss), nil
	}
	if !near(lossThere, loss, math.Abs(loss)) {
		return fmt.Sprintf("the loss of a step is %g, the CPU's is %g", lossThere, loss), nil
	}
	if i := o.apart(w, got, want); i >= 0 {
		return fmt.Sprintf("weight %d becomes %g, the CPU's %g", i, got[i], want[i]), nil
	}
	return "", nil
}

// period is how many weights of a trial are drawn; those behind are the same again, as drawing each of a large run
// would take longer than all else at its start. It is a prime, so that neither the next row of a matrix nor an index
// that lost its upper bits meets the same weights.
const period = 65521

// trialWeights are n normal numbers, a function of nonce and trial.
func trialWeights(n int, nonce, trial uint64) []float32 {
	w, r := make([]float32, n), rand.New(rand.NewPCG(nonce, trial))
	for i := range w[:min(n, period)] {
		w[i] = float32(r.NormFloat64()) / 16
	}
	for have := period; have < n; have *= 2 {
		copy(w[have:], w[:have])
	}
	return w
}

// apart is a weight that became something else than on the CPU, or -1. Adagrad and adam
// take a step of about the rate whatever the size of a gradient, and where that is zero but
// for rounding, either way: of their steps a few may differ.
func (o *owner) apart(w, got, want []float32) int {
	largest, few := 0.0, 0
	for i := range w {
		if want[i] != w[i] { // few, where a step touches few
			largest = max(largest, math.Abs(float64(want[i]-w[i])))
		}
	}
	if c := o.setup.Job; c.Asked.Optimizer == config.AdaGrad || c.Asked.Optimizer == config.Adam {
		few = len(w) / 50
	}
	for i := range want {
		most := largest + math.Abs(float64(w[i]))
		if i < o.memory.layout.Halves { // it may be rounded up or down: near's share of this is 2^-10
			most += 10 * math.Abs(float64(want[i]))
		}
		if got[i] == want[i] || near(float64(got[i]), float64(want[i]), most) {
			continue
		}
		if few--; few < 0 {
			return i
		}
	}
	return -1
}

// far says what a step with products in tf32 leads to, if it is far from the CPU's. An operand is off by 2^-11 of
// itself at most, and from weights to a step a number goes through up to two products a layer, of two operands each:
// 4L/2^11 of a sum of products. Some units are so near to zero that this takes them to the other side of ReLU, which
// changes all weights before them. So a step is compared as a whole: it may be apart by a quarter of its length, where
// a wrong product or a part of a sum that is missing takes it further. Of the units about 4L/2^11 go astray, 1% at
// five layers, and the length of the difference is to the step's as the root of that share.
func (o *owner) far(w, got, want []float32, lossThere, loss float64) string {
	rounding := 4 * float64(o.idle.job.Layers) / (1 << 11)
	if !(math.Abs(lossThere-loss) <= rounding*math.Abs(loss)+1e-6) {
		return fmt.Sprintf("the loss of a step is %g, the CPU's is %g", lossThere, loss)
	}
	apart, length := 0.0, 0.0
	for i := range w {
		apart += math.Pow(float64(got[i])-float64(want[i]), 2)
		length += math.Pow(float64(want[i])-float64(w[i]), 2)
	}
	if !(apart <= length/16+1e-12) {
		return fmt.Sprintf("a step of length %g is %g apart from the CPU's", math.Sqrt(length), math.Sqrt(apart))
	}
	return ""
}

// near allows for sums in another order and for the approximate exponential.
func near(got, want, size float64) bool { return math.Abs(got-want) <= 1e-4*size+1e-6 }

// oneStep is the same step by the kernel, one CTA: on the first n rows of an epoch.
func (o *owner) oneStep(w []float32, n int, rate float64) (after []float32, loss float64, err error) {
	t := o.idle
	saved, samples, scheduled := t.job, t.samples, t.rate
	defer func() { t.job, t.samples, t.rate, t.failed = saved, samples, scheduled, nil }()
	t.rate = func(int64) float64 { return rate }
	t.job.W, t.job.Out, t.job.Gradient = uint64(o.memory.weights), uint64(o.memory.weights), 0
	t.samples = false
	if t.job.First == 0 { // averaged gradients: the step is another kernel's
		t.job.Optimizer = optimizers[config.SGD]
	}
	for i, state := range o.setup.States {
		err = keep(err, zero(o.memory.state(i), len(state)), zero(o.memory.steps(i), 2))
	}
	if err = keep(err, o.memory.uploadWeights(w)); err != nil {
		return nil, 0, err
	}
	t.results = t.results[:0]
	step := plan.Chunk{Rank: -1, Count: n, Batch: n, Stride: n, Weight: 1}
	if err = t.launch([]piece{{step, true}}); err != nil {
		return nil, 0, err
	}
	if err = t.pipeline.drain(); err != nil {
		return nil, 0, err
	}
	after = make([]float32, len(w))
	return after, t.results[0].Loss, o.memory.downloadWeights(after)
}
