package cpu

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// stepBy decides who takes the steps: the model by itself, where that is plain SGD with one
// example a step, in two halves or, where nothing stands between these, in one; else
// gradients are written.
func (d *cpu) stepBy(m model.Model) {
	s, ok := m.(model.HalfStepper)
	if !ok || d.cfg.Optimizer != config.SGD || d.cfg.Tuning.Batch != 1 || d.cfg.AveragesGradients() {
		return
	}
	if steps, _ := s.Suits(d.set); !steps {
		return
	}
	d.step, d.coef = s, make([]float32, s.CoefLen())
	zero := d.delay != nil && d.delay.steps == 0
	d.fused = d.cfg.GradientDelay == 0 && (d.cfg.Mode.Kind == config.Async || d.cfg.Mode.Kind == config.Sync || zero)
}

// chunksAhead is how many chunks a worker of a model that takes its steps by itself takes
// at once, as long as enough are left for the others: a few milliseconds of work.
const chunksAhead = 64

// PreferredChunks is one chunk: a core gains nothing from more. But a worker that trains
// a copy merges it at the end, and a chunk of such short steps is short.
func (d *cpu) PreferredChunks() int {
	if d.step != nil && d.cfg.GradientDelay == 0 {
		return chunksAhead
	}
	return 1
}

// Train trains the chunks one after the other.
func (d *cpu) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	d.results = d.results[:0]
	if d.step != nil {
		d.lineUp(cs)
	}
	for _, c := range cs {
		if d.delay != nil {
			d.delay.epoch = c.Epoch
		}
		y, err := d.chunk(c)
		if err != nil {
			return nil, err
		}
		d.results = append(d.results, y)
	}
	d.merge()
	return d.results, nil
}

// chunk is the hot loop of all modes: each step reads weights, and writes them when its mode
// lets it. A model that takes its steps by itself, with nothing between read and write,
// takes many at once.
func (d *cpu) chunk(c plan.Chunk) (y plan.ChunkResult, err error) {
	for y.Examples < c.Count {
		rows := d.next(c, &y)
		lr := d.rateOf(c, &y)
		d.begin(rows)
		loss := d.read(rows, lr)
		n := 1
		if d.fused {
			n = len(rows)
		}
		d.steps += int64(n)
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			d.drop()
			return y, &device.NotFiniteError{Step: d.steps, Loss: loss, LR: lr}
		}
		if !d.fused {
			d.spin.wait()
			d.write(rows, lr)
		} else {
			d.stepped(n)
		}
		y.Steps += n
		y.Examples += len(rows)
		y.Loss += loss
		if d.product != 1 && (y.Steps%stride == 0 || y.Examples == c.Count) {
			y.Loss -= math.Log(d.product)
			d.product = 1
		}
	}
	return y, nil
}

// rateOf is the learning rate of the next step of a chunk of which y is trained.
func (d *cpu) rateOf(c plan.Chunk, y *plan.ChunkResult) float64 {
	if d.step != nil && y.Steps%stride != 0 && !d.fused {
		return d.lr // as if that many steps were taken at once
	}
	if at := d.rate.Block(c.Seen + int64(y.Examples*c.Weight)); at != d.block {
		d.lr, d.block = d.rate.At(at), at
	}
	return d.lr
}

// read computes what the rows' step is to write: coefficients or a gradient. Fused, it writes
// as well. It returns the summed loss, but for the logarithm of d.product.
func (d *cpu) read(rows []int32, lr float64) (loss float64) {
	if d.step == nil {
		return d.model.Grad(d.own.view(), d.batch, &d.g)
	}
	d.length.LR = float32(lr)
	if !d.fused {
		loss, p := d.step.Read(d.own.view(), d.set, rows, d.length, d.coef)
		if d.product *= p; !(p > 0) {
			return math.NaN()
		}
		return loss
	}
	return d.own.steps(d.step, d.set, rows, d.length)
}

// put writes the step at hand to the weights: when it may, guard.go knows.
func (d *cpu) put(rows []int32, lr float64) {
	if d.step == nil {
		d.descend(lr)
		return
	}
	d.length.LR = float32(lr)
	d.own.write(d.step, d.set, rows[0], d.length, d.coef)
}
