package cpu

import (
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// mostPasses are over the rows in hand in an epoch. Taken by themselves too often, they fit what others have left.
const mostPasses = 8

// stepper returns the model whose steps a rank takes: with a dual solver they are along the variables of rows.
func stepper(s *device.Setup, rank int) model.Model {
	c, m := s.Job, s.Mem
	if !c.Asked.Ascends() {
		return s.Model
	}
	return model.NewDual(s.Model, s.Set, m.Dual, m.Bounds[rank*control.RankWords:], c.Asked.L2, c.Used.Spread)
}

// ascend takes the steps of the dual solver on the rows of all chunks in hand. The first pass is over those that are
// not skipped. Where these are at most three quarters, others follow, up to twice as many steps as rows: an epoch of
// few steps takes less time than what lies between two epochs. Few rows by themselves have one pass. Local steps count
// towards a merge, and not the rows that are skipped.
func ascend(d *cpu, dual *model.Dual, cs []plan.Chunk) ([]plan.ChunkResult, error) {
	d.lineUp(cs)
	d.sample.waited = d.sample.waited || d.length.Epoch != cs[0].Epoch
	d.length.Epoch = cs[0].Epoch
	rows, total, taken := d.queue, 0.0, 0
	for pass := range mostPasses {
		list := dual.Choose(rows, d.length.Epoch, pass)
		few, most := 4*d.plan.Workers*len(rows) < d.plan.N, 4*len(list) > 3*len(rows)
		if pass > 0 && (few || most || taken+len(list) > 2*len(rows)) {
			break
		}
		taken += len(list)
		for len(list) > 0 {
			n := d.room(len(list))
			d.begin(list)
			loss := d.own.steps(dual, d.set, list[:n], d.length)
			if d.steps += int64(n); math.IsNaN(loss) || math.IsInf(loss, 0) {
				d.drop()
				return nil, &device.NotFiniteError{Step: d.steps, Loss: loss, LR: 1}
			}
			if pass == 0 {
				total += loss
			}
			d.stepped(n)
			list = list[n:]
		}
	}
	for _, c := range cs {
		share := float64(c.Count) / float64(len(rows))
		d.results = append(d.results, plan.ChunkResult{Examples: c.Count, Steps: c.Count, Loss: total * share})
	}
	d.merge(true)
	return d.results, nil
}
