package cpu

import (
	"sync"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// kept is the copy of the weights that is evaluated while workers train on.
type kept struct {
	trained []float32        // as the run trains them; the caller's
	plain   func() []float32 // as a plain model has them; the same if it does not centre
}

// Keep is device.Owner's. It is a copy in memory by all cores: workers wait for it.
func (o *hostOwner) Keep(w []float32, compare bool) (changed []bool, err error) {
	s := o.s
	at := model.Offsets(s.Params)
	for i, p := range s.Params {
		if compare && !model.IsCenter(p) {
			end := at[i] + p.Len()
			changed = append(changed, device.Changed(w[at[i]:end], s.Weights[at[i]:end]))
		}
	}
	o.parts(len(w), func(from, to int) { copy(w[from:to], s.Weights[from:to]) })
	merged := s.Job.Tuning.MergesCentered()
	o.kept = kept{w, sync.OnceValue(func() []float32 { return model.ToPlain(s.Params, w, s.Set.Mean, merged) })}
	return changed, nil
}

// parts cuts n numbers into a part for each core, and returns when f has been called for all.
func (o *hostOwner) parts(n int, f func(from, to int)) {
	var busy sync.WaitGroup
	for i := range o.scorers {
		from, to := plan.SliceOf(n, i, len(o.scorers))
		busy.Go(func() { f(from, to) })
	}
	busy.Wait()
}

// Survey is device.Owner's.
func (o *hostOwner) Survey(counts bool) (device.Survey, error) {
	w := o.kept.plain()
	s := device.Survey{NotFinite: device.NotFiniteAt(w)}
	if s.NotFinite >= 0 {
		s.Value = w[s.NotFinite]
	}
	params := o.s.Plain.Params()
	if !counts {
		return s, nil
	}
	s.Counts = make([]device.Counts, len(params))
	for i, at := range model.Offsets(params) {
		s.Counts[i] = device.NoCounts()
		s.Counts[i].Add(w[at : at+params[i].Len()])
	}
	return s, nil
}

// Kept is device.Owner's.
func (o *hostOwner) Kept() ([]float32, error) { return o.kept.plain(), nil }

// Score is device.Owner's.
func (o *hostOwner) Score(w []float32, set *data.Set) (model.Score, error) {
	if w == nil {
		w = o.kept.plain()
	}
	from, to := o.s.ShareOf(set)
	return evaluate(o.scorers, w, part{set, from, to, true})
}
