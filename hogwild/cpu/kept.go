package cpu

import (
	"sync"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/internal/machine"
)

// Keep implements device.Owner. All cores copy in memory: workers wait for it.
func (o *hostOwner) Keep(w []float32, compare bool) (changed []bool, err error) {
	s, job := o.s, o.s.Job // before it changes
	o.common.settle(s.Mem.W)
	at := model.Offsets(s.Params)
	for i, p := range s.Params {
		if compare && !model.IsCenter(p) {
			end := at[i] + p.Len()
			changed = append(changed, device.Changed(w[at[i]:end], s.Weights[at[i]:end]))
		}
	}
	machine.Parts(len(w), func(from, to int) { copy(w[from:to], s.Weights[from:to]) })
	o.spare = newSpare(len(o.scorers) - s.Job.Asked.Workers)
	o.kept = sync.OnceValue(func() []float32 { return job.Plain(s.Params, w, s.Set.Mean) })
	return changed, nil
}

// surveyed is how many weights are looked at in one go.
const surveyed = 1 << 18

// Survey implements device.Owner.
func (o *hostOwner) Survey(counts bool) (device.Survey, error) {
	w, params := o.kept(), o.s.Plain.Params()
	type piece struct {
		tensor, from, to, bad int
		counts                *device.Counts
	}
	var pieces []piece
	for i, at := range model.Offsets(params) {
		for end := at + params[i].Len(); at < end; at += surveyed {
			pieces = append(pieces, piece{tensor: i, from: at, to: min(at+surveyed, end)})
		}
	}
	err := o.spare.each(len(o.scorers), len(pieces), func(f func()) error { f(); return nil }, func(_, i int) {
		p := &pieces[i]
		if p.bad = device.NotFiniteAt(w[p.from:p.to]); counts {
			p.counts = device.NewCounts()
			p.counts.Add(w[p.from:p.to])
		}
	})
	s := device.Survey{NotFinite: -1}
	if counts {
		s.Counts = make([]device.Counts, len(params))
	}
	for _, p := range pieces {
		if s.NotFinite < 0 && p.bad >= 0 {
			s.NotFinite, s.Value = p.from+p.bad, w[p.from+p.bad]
		}
		if counts {
			s.Counts[p.tensor].Plus(p.counts)
		}
	}
	return s, err
}

// Await implements device.Owner.
func (o *hostOwner) Await() {
	if o.spare != nil { // a copy was kept
		o.spare.await()
	}
}

// Kept implements device.Owner.
func (o *hostOwner) Kept() ([]float32, error) { return o.kept(), nil }

// Score implements device.Owner.
func (o *hostOwner) Score(w []float32, set *data.Set) (model.Score, error) {
	if w == nil {
		w = o.kept()
	}
	from, to := o.s.ShareOf(set)
	return evaluate(o.scorers, w, part{set, from, to, o.spare})
}
