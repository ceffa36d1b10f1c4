//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/cu"

	"hogwild/hogwild/model"
	"hogwild/internal/vec"
)

// selfCheck takes one step of the run's kernel on random weights and the first rows
// of the data, and compares it with the CPU's gradient. A driver, a compiler or a GPU
// that computes something else is found out before it trains anything. The run's
// weights are not there yet: their memory serves.
func (o *owner) selfCheck() error {
	w := make([]float32, o.memory.layout.P)
	r := rand.New(rand.NewPCG(o.ticket.Nonce, 1))
	for i := range w {
		w[i] = float32(r.NormFloat64()) / 16
	}
	rows := make([]int32, min(o.setup.Config.Batch, o.setup.Set.Rows, 64))
	for i := range rows {
		rows[i] = int32(i)
	}
	const rate = 0.5
	want, loss := o.twin(w, rows, rate)
	got, lossThere, err := o.oneStep(w, rows, rate)
	if err != nil {
		return err
	}
	if !near(lossThere, loss, math.Abs(loss)) {
		return fmt.Errorf("self-check of %s on %s: the loss of a step is %g, the CPU's is %g: do not trust this GPU or driver",
			o.idle.job.kernelName(), o.Name(), lossThere, loss)
	}
	largest := 0.0
	for i := range w {
		largest = max(largest, math.Abs(float64(want[i]-w[i])))
	}
	for i := range want {
		if !near(float64(got[i]), float64(want[i]), largest+math.Abs(float64(w[i]))) {
			return fmt.Errorf("self-check of %s on %s: weight %d becomes %g, the CPU's %g: do not trust this GPU or driver",
				o.idle.job.kernelName(), o.Name(), i, got[i], want[i])
		}
	}
	return nil
}

// near allows for sums in another order and for the approximate exponential.
func near(got, want, size float64) bool { return math.Abs(got-want) <= 1e-4*size+1e-6 }

// twin is the step on the CPU: w - rate (g + l2 w).
func (o *owner) twin(w []float32, rows []int32, rate float32) (after []float32, loss float64) {
	var g model.Gradient
	loss = o.setup.Model.Grad(w, o.setup.Set.NewReader().Batch(rows), &g)
	after = append([]float32(nil), w...)
	for i, from := range model.Offsets(o.setup.Params) {
		if p := o.setup.Params[i]; p.Decay {
			vec.Axpy(-rate*float32(o.setup.Config.L2), w[from:from+p.Len()], after[from:])
		}
	}
	for _, p := range g.Parts {
		for i, x := range p.X {
			d := p.D[i*p.Out : (i+1)*p.Out]
			if m := after[p.Offset : p.Offset+p.In*p.Out]; x.Idx == nil {
				vec.Ger(-rate, x.Val, d, m)
			} else {
				vec.SparseGer(-rate, x.Idx, x.Val, d, m)
			}
			if p.Bias >= 0 {
				vec.Axpy(-rate, d, after[p.Bias:p.Bias+p.Out])
			}
		}
	}
	return after, loss
}

// oneStep is the same step by the kernel, one CTA.
func (o *owner) oneStep(w []float32, rows []int32, rate float32) (after []float32, loss float64, err error) {
	t := o.idle
	saved := t.job
	defer func() { t.job = saved }()
	t.job.W, t.job.Out, t.job.Gradient = uint64(o.memory.weights), uint64(o.memory.weights), 0
	if t.job.Velocity != 0 { // of zeros: the first step with momentum is a plain one
		err = zero(cu.DevicePtr(t.job.Velocity), len(w))
	}
	t.rows, t.start, t.lr = rows, []int32{0, int32(len(rows))}, []float32{rate}
	if err = keep(err, upload(o.memory.weights, w)); err != nil {
		return nil, 0, err
	}
	if err := t.step(); err != nil {
		return nil, 0, err
	}
	after = make([]float32, len(w))
	return after, float64(t.loss[0]), download(after, o.memory.weights)
}
