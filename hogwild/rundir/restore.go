package rundir

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
)

// Restore writes the copy back, into segments made for the same configuration. A node takes its own chunks
// of the table.
func (s *Snapshot) Restore(m *control.Weights, w *control.Block, optimizer config.Optimizer) error {
	copy(m.W, s.W)
	if err := s.restoreDual(m); err != nil {
		return err
	}
	if err := s.restoreState(m, w, optimizer); err != nil || !s.Pos.Within {
		return err
	}
	if s.cutAnew() { // all chunks are free already
		return nil
	}
	p, n := &w.Plan, len(m.W)
	// which save between rounds
	replicas := len(m.Slots) == 0 || len(s.slots) == p.Ranks()*n || len(s.slots) == 0 && s.Job.Asked.Nodes > 1
	if len(s.chunks) != 2*p.AllChunks() || !replicas {
		return config.Usage("resume: the snapshot was taken within an epoch, and this run splits epochs differently: " +
			"keep workers, batch and average-every")
	}
	for i := range p.Chunks() { // each free, done or lost
		copy(w.Chunks[2*i:2*i+2], s.chunks[2*p.Global(i):])
	}
	for r := range m.Slots {
		if len(s.slots) > 0 {
			copy(m.Slots[r], s.slots[p.RankOf(r)*n:])
		}
	}
	return nil
}

// restoreDual writes back the dual variables, and the bounds of as many ranks as the snapshot has: early ones none.
func (s *Snapshot) restoreDual(m *control.Weights) error {
	n := len(m.Dual)
	if more := len(s.dual) - n; more < 0 || more%control.RankWords != 0 {
		return config.Usage("resume: the snapshot holds %d dual variables, this run has %d: start a new run",
			len(s.dual), n)
	}
	for i, bits := range s.dual[n:][:min(len(s.dual)-n, len(m.Bounds))] {
		m.Bounds[i] = math.Float64frombits(bits)
	}
	for i, bits := range s.dual[:n] {
		a := math.Float64frombits(bits)
		if a-a != 0 {
			return config.Usage("resume: dual variable %d of the snapshot is %v: start a new run", i, a)
		}
		m.Dual[i] = a
	}
	return nil
}

// restoreState writes back the states of the optimizers. A job of several nodes has saved one node's, which all take
// over.
func (s *Snapshot) restoreState(m *control.Weights, w *control.Block, optimizer config.Optimizer) error {
	have, want := len(s.steps)/control.RankWords, len(m.Optimizers)
	nodes := s.Job.Asked.Nodes > 1 || w.Plan.Ranks() > w.Plan.Workers
	each := len(m.State) / max(1, want)
	if s.Job.Asked.Optimizer == optimizer && have > 0 && (have == want || nodes) && len(s.state) == have*each {
		for i := range want {
			from := w.Plan.RankOf(i) % have
			copy(m.State[i*each:(i+1)*each], s.state[from*each:])
			copy(m.Steps[i*control.RankWords:(i+1)*control.RankWords], s.steps[from*control.RankWords:])
		}
		return nil
	}
	if len(s.state) > 0 && len(m.State) > 0 {
		return config.Usage("resume: the snapshot holds the state of %d optimizers (%s), this run needs %d (%s): "+
			"keep workers, optimizer and optimizer-state",
			have, s.Job.Asked.Optimizer, want, optimizer)
	}
	return nil
}
