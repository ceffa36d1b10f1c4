package cpu

import (
	"math"

	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// stepper is the model, when it can take the steps of this run by itself: plain SGD,
// one example a step, written racily or to a replica.
func (d *cpu) stepper() model.Stepper {
	s, ok := d.model.(model.Stepper)
	plain := d.cfg.Optimizer == "sgd" && d.cfg.Batch == 1 && !d.cfg.AveragesGradients() &&
		(d.cfg.Mode == "async" || d.cfg.Mode == "sync")
	if !ok || !plain {
		return nil
	}
	if steps, _ := s.Suits(d.set); !steps {
		return nil
	}
	return s
}

// stepAppetite is how many chunks a worker of such a model takes at once, as long as
// enough are left for the others: a few milliseconds of work.
const stepAppetite = 64

// stride is how many steps are taken at once: the learning rate is that of the first.
const stride = 64

// trainSteps is the hot loop of a model that takes its steps by itself, on the rows of a
// chunk. Behind them stand those of the next one.
func (d *cpu) trainSteps(c plan.Chunk) (plan.ChunkResult, error) {
	var t plan.ChunkResult
	s := model.Step{L2: float32(d.cfg.L2), L1: float32(d.cfg.L1)}
	if d.biasCopy != nil {
		s.Bias = &d.biasCopy.mine[0]
	}
	for seen := c.Seen; t.Steps < c.Count; {
		n := min(stride, c.Count-t.Steps)
		if n = d.room(n); d.local == nil || d.local.made == 0 {
			d.sample.read()
			d.lookShort(d.queue[0])
		}
		s.LR = float32(d.rate.At(d.rate.Block(seen)))
		loss := d.step.Steps(d.w, d.set, d.queue[:n], s)
		d.steps += int64(n)
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return t, &device.NotFiniteError{Step: d.steps, Loss: loss, LR: float64(s.LR)}
		}
		d.stepped(n)
		t.Steps += n
		t.Examples += n
		t.Loss += loss
		seen += int64(n * c.Weight)
		d.queue = d.queue[n:]
	}
	return t, nil
}

// lineUp queues the rows of all chunks, one behind the other.
func (d *cpu) lineUp(cs []plan.Chunk) {
	n := 0
	for _, c := range cs {
		n += c.Count
	}
	if n > cap(d.queued) {
		d.queued = make([]int32, n)
	}
	d.queue = d.queued[:n:n]
	at := 0
	for _, c := range cs {
		d.takeAll(c, d.queue[at:at+c.Count])
		at += c.Count
	}
}

// takeAll sets rows to those of a chunk.
func (d *cpu) takeAll(c plan.Chunk, rows []int32) {
	order := d.orders[max(c.Rank, 0)]
	if c.Stride == 1 {
		order.Fill(rows, c.Epoch, c.First)
		return
	}
	// One order for all ranks, of which this one has every Stride-th row. Rows are
	// shuffled in blocks: it takes whole stretches, and picks its own.
	if d.span == nil {
		d.span = make([]int32, len(d.rows))
	}
	n, at := 0, c.First
	for n < c.Count {
		span := d.span[:min(len(d.span), (c.Count-n-1)*c.Stride+1)]
		order.Fill(span, c.Epoch, at)
		i := 0
		for ; i < len(span); i += c.Stride {
			rows[n] = span[i]
			n++
		}
		at += i
	}
}
