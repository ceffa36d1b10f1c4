package hogwild

import (
	"errors"
	"fmt"

	"hogwild/shm"
)

// weights is the segment that the run is about: the weights, and what belongs to
// them. All of it together is what a snapshot saves.
type weights struct {
	seg   *shm.Segment
	w     []float32        // p weights
	slots [][]float32      // barrier mode: each rank's replica or gradient, p numbers
	opts  []optimizerState // one a rank, or one for all
	state []float32        // of all optimizers, as it lies in memory
	steps []uint64         // taken with each optimizer's state, a line each

	counts  []uint64 // updates written by each rank, a line each
	records []record // of each rank's samples
	locks   []uint32 // locked mode: a line for each block of weights; async: see mergesAlone
	turns   []uint64 // ordered mode: see turns
	bells   []uint32 // ordered mode: each rank's, a line each
}

// optimizerState is what an optimizer keeps: in shared memory, private to a rank or one for
// all, so that it is part of every snapshot.
type optimizerState struct {
	slots [][]float32 // each as long as the weights: velocity; sum of squares; first and second moment
	steps *uint64     // taken with this state
}

// createWeights makes the segment for p weights, all zero.
func createWeights(c *Job, p int) (*weights, error) {
	var l shm.Layout
	l.Add("weights", shm.F32, p)
	if c.Mode == "sync" {
		l.Add("slots", shm.F32, c.Workers, p)
	}
	l.Add("state", shm.F32, c.optimizers(), optimizerSlots(c.Optimizer), p)
	l.Add("steps", shm.U64, c.optimizers(), lineWords)
	l.Add("counts", shm.U64, c.Workers, lineWords)
	l.Add("records", shm.U64, c.Workers, recordWords)
	switch {
	case c.Mode == "locked":
		l.Add("locks", shm.U32, lockBlocks(p), lockLine)
	case c.mergesAlone():
		l.Add("locks", shm.U32, 1, lockLine)
	case c.Mode == "ordered":
		l.Add("turns", shm.U64, turnLines(c.Workers), lineWords)
		l.Add("bells", shm.U32, c.Workers, 2*lineWords)
	}
	seg, err := l.Create("weights")
	if err != nil {
		return nil, fmt.Errorf("%w: %d weights with what belongs to them", err, p)
	}
	return openWeights(seg, c)
}

// openWeights finds the arrays in a mapped segment.
func openWeights(seg *shm.Segment, c *Job) (*weights, error) {
	m := &weights{seg: seg}
	var errs [4]error
	var slots []float32
	m.w, errs[0] = shm.View[float32](seg, "weights")
	m.state, errs[1] = shm.View[float32](seg, "state")
	m.steps, errs[2] = shm.View[uint64](seg, "steps")
	if c.Mode == "sync" {
		slots, errs[3] = shm.View[float32](seg, "slots")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	p, k := len(m.w), optimizerSlots(c.Optimizer)
	if len(m.state) != c.optimizers()*k*p || len(m.steps) != c.optimizers()*lineWords ||
		(c.Mode == "sync" && len(slots) != c.Workers*p) {
		return nil, errors.New("the weights' segment has another shape than the configuration gives it")
	}
	for r := 0; r < c.Workers && c.Mode == "sync"; r++ {
		m.slots = append(m.slots, slots[r*p:(r+1)*p])
	}
	for i := range c.optimizers() {
		o := optimizerState{steps: &m.steps[i*lineWords]}
		for j := range k {
			o.slots = append(o.slots, m.state[(i*k+j)*p:(i*k+j+1)*p])
		}
		m.opts = append(m.opts, o)
	}
	return m, m.openModes(c)
}

// openModes finds what the modes and the samples need beside the weights.
func (m *weights) openModes(c *Job) error {
	var errs [4]error
	var records []uint64
	m.counts, errs[0] = shm.View[uint64](m.seg, "counts")
	records, errs[1] = shm.View[uint64](m.seg, "records")
	switch {
	case c.Mode == "locked" || c.mergesAlone():
		m.locks, errs[2] = shm.View[uint32](m.seg, "locks")
	case c.Mode == "ordered":
		m.turns, errs[2] = shm.View[uint64](m.seg, "turns")
		m.bells, errs[3] = shm.View[uint32](m.seg, "bells")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if len(m.counts) != c.Workers*lineWords || len(records) != c.Workers*recordWords {
		return errors.New("the weights' segment has another shape than the configuration gives it")
	}
	for r := range c.Workers {
		m.records = append(m.records, records[r*recordWords:(r+1)*recordWords])
	}
	return nil
}
