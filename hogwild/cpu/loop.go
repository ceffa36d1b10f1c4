package cpu

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// stepBy decides who takes the steps: the model by itself, where that is plain SGD with one
// example a step, in one or, where something stands between read and write, in two halves; else
// gradients are written.
func (d *cpu) stepBy(m model.Model) {
	s, ok := m.(model.Stepper)
	if !ok || d.cfg.Asked.Optimizer != config.SGD || d.cfg.Used.Batch != 1 || d.cfg.Asked.AveragesGradients() {
		return
	}
	if steps, _ := s.Suits(d.set); !steps {
		return
	}
	if d.delay != nil && d.delay.needsFullGradient() {
		return
	}
	zero := d.delay != nil && d.delay.isZeroDelay()
	d.fused = d.cfg.Asked.GradientDelay == 0 && (d.cfg.Asked.Mode.Traits().Fused || zero)
	if d.cfg.Asked.Ascends() { // where no other writes what it trains: see ascend
		d.fused = d.cfg.Asked.GradientDelay == 0 && (d.cfg.Used.MergeEvery > 1 || d.cfg.Asked.Ranks() == 1)
	}
	if d.halves, ok = m.(model.HalfStepper); ok {
		d.coef = make([]float32, d.halves.CoefLen())
	} else if !d.fused {
		return
	}
	d.step = s
}

// Train trains the chunks one after the other. It tells what they came to when their updates are in the weights.
func (d *cpu) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	if l := d.local; l == nil || l.held == 0 {
		d.results = d.results[:0]
	}
	if dual, ok := d.step.(*model.Dual); ok && d.fused && len(cs) > 0 {
		return ascend(d, dual, cs)
	}
	steps, train := 0, d.chunk
	if d.plan.Grid > 0 {
		train = d.trainBlock
	} else if d.step != nil {
		d.lineUp(cs)
	}
	for _, c := range cs {
		if d.lead > 0 {
			d.prefetch(c)
		}
		d.sample.waited = d.sample.waited || d.length.Epoch != c.Epoch
		if d.length.Epoch = c.Epoch; d.delay != nil {
			if err := d.delay.startEpoch(c.Epoch); err != nil {
				return nil, err
			}
		}
		y, err := train(c)
		if err != nil {
			return nil, err
		}
		d.results = append(d.results, y)
		steps += y.Steps
	}
	if len(cs) > 0 && d.local.deferMerge(steps) {
		return nil, nil
	}
	if d.merge(true); d.local != nil {
		d.local.held = 0
	}
	return d.results, nil
}

// trainBlock trains a chunk of mode blocks, or what its first step has left of it. Its rows are looked up a part at a
// time: all of them would take the cache from the factors.
func (d *cpu) trainBlock(c plan.Chunk) (y plan.ChunkResult, err error) {
	d.length.Twin = c.Twin
	if d.blocks != nil {
		d.length.Common = d.blocks.begin(c, &d.own)
		defer d.blocks.end(c)
	}
	for part, rest := c.Split(blockRows); part.Count > 0 && err == nil; part, rest = rest.Split(blockRows) {
		var z plan.ChunkResult
		d.lineUp([]plan.Chunk{part})
		z, err = d.chunk(part)
		y = y.Plus(z)
	}
	return y, err
}

const blockRows = 1 << 12

// chunk runs the hot loop of all modes: each step reads weights, and writes them when its mode
// lets it. A model that takes its steps by itself, with nothing between read and write,
// takes many at once.
func (d *cpu) chunk(c plan.Chunk) (y plan.ChunkResult, err error) {
	for y.Examples < c.Count {
		rows := d.next(c, &y)
		lr := d.rateOf(c, &y)
		d.begin(rows)
		loss, n, rest := d.read(rows, lr)
		d.steps += int64(n)
		if len(rest) > 0 {
			d.steps++
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			d.drop()
			return y, &device.NotFiniteError{Step: d.steps, Loss: loss, LR: lr}
		}
		if n > 0 {
			d.stepped(n)
		}
		if len(rest) > 0 {
			d.spin.wait()
			d.write(rest, lr)
			y.Steps++
		}
		if d.step != nil {
			d.queue = d.queue[n+len(rest):]
		}
		y.Steps += n
		y.Examples += n + len(rest)
		y.Loss += loss
		if d.product != 1 && (y.Steps%stride == 0 || y.Examples == c.Count) {
			y.Loss -= math.Log(d.product)
			d.product = 1
		}
	}
	return y, nil
}

// rateOf returns the learning rate of the next step of a chunk; y is what is trained of it.
func (d *cpu) rateOf(c plan.Chunk, y *plan.ChunkResult) float64 {
	if d.step != nil && y.Steps%stride != 0 && !d.fused {
		return d.lr // as if that many steps were taken at once
	}
	if at := d.rate.Block(c.Seen + int64(y.Examples*c.Weight)); at != d.block {
		d.lr, d.block = d.rate.At(at), at
	}
	return d.lr
}

// read computes what the rows' step is to write: coefficients or a gradient. Of a model that
// takes its steps by itself it takes the first n rows' steps whole, as far as nothing stands
// between their halves, or a guard that the model's loop passes by itself; rest is what it
// has read and not written. It returns the summed loss, but for the logarithm of d.product.
func (d *cpu) read(rows []int32, lr float64) (loss float64, n int, rest []int32) {
	if d.step == nil {
		if d.lazy != nil {
			d.lazy.begin(&d.own, d.x, lr)
		}
		return d.model.Grad(d.own.view(), d.batch, &d.g), 0, rows
	}
	d.length.LR = float32(lr)
	if d.fused {
		return d.own.steps(d.step, d.set, rows, d.length), len(rows), nil
	}
	guard := d.guard
	if d.sample.open {
		guard = nil // to look between the halves
	}
	n, loss, p := d.own.guarded(d.halves, d.set, rows, d.length, d.coef, guard)
	if d.product *= p; !(p > 0) {
		loss = math.NaN()
	}
	if d.turns != nil && d.turns.Over() {
		return loss, n, nil
	}
	if guard.Slept() {
		d.markLocks(rows[n-1 : n])
		d.locks.wake()
		return loss, n, nil
	}
	return loss, n, rows[n:min(n+1, len(rows))]
}
