package hogwild

import (
	"math"

	"hogwild/hogwild/model"
)

// stepper is the model, when it can take the steps of this run by itself: plain SGD,
// one example a step, written racily or to a replica.
func (d *cpu) stepper() model.Stepper {
	s, ok := d.model.(model.Stepper)
	plain := d.cfg.Optimizer == "sgd" && d.cfg.Batch == 1 && !d.cfg.averagesGradients() &&
		(d.cfg.Mode == "async" || d.cfg.Mode == "sync")
	if !ok || !plain {
		return nil
	}
	return s
}

// trainSteps is the hot loop of a model that takes its steps by itself.
func (d *cpu) trainSteps(c Chunk) (Tally, error) {
	var t Tally
	order := d.orders[max(c.Rank, 0)]
	seen := c.Seen
	for first := c.First; t.Examples < c.Count; first += c.Stride {
		rows := d.take(order, c, first, min(c.Batch, c.Count-t.Examples))
		s := model.Step{LR: float32(d.rate.at(d.rate.block(seen))), L2: float32(d.cfg.L2), L1: float32(d.cfg.L1)}
		loss := d.step.Steps(nil, d.w, d.set, rows, s)
		d.steps++
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return t, &notFinite{step: d.steps, loss: loss, lr: float64(s.LR)}
		}
		t.Steps++
		t.Examples += len(rows)
		t.Loss += loss
		seen += int64(len(rows) * c.Weight)
	}
	return t, nil
}
