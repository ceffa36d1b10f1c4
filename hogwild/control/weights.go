package control

import (
	"errors"

	"hogwild/hogwild/config"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// Weights is the segment that the run is about: the weights, and what belongs to
// them. All of it together is what a snapshot saves.
type Weights struct {
	Seg        *shm.Segment
	W          []float32        // p weights
	Slots      [][]float32      // barrier mode: each rank's replica or gradient, p numbers
	Optimizers []OptimizerState // one a rank, or one for all
	Dual       []float64        // with the dual solver: a variable for each row
	Bounds     []float64        // with the dual solver: what each rank keeps with them, a line each
	State      []float32        // of all optimizers, as it lies in memory
	Steps      []uint64         // taken with each optimizer's state, a line each
	Ranks      int              // there is room for this many workers; the slices have as many as the run has

	Counts   []uint64   // updates written by each rank, a line each
	Records  []Record   // of each rank's samples
	Measures []Measures // of each rank's program, or virtual clock
	Locks    []uint32   // locked mode: a line for each block of weights
	Tickets  []uint64   // ordered mode: see tickets.go
	sleeping []uint32   // ordered mode: each rank's, a line each
	Kept     []float32  // mode blocks: what each rank's block writes, as it was: p numbers each
	KeptOf   []uint64   // mode blocks: the chunk that Kept is a copy of, a line each
	Common   []float32  // mode blocks: weights that all blocks write, and what each has added: see cpu/common.go
	CommonOf []uint64   // mode blocks: the sub-epoch in which each has added it, from 1
}

// OptimizerState is what an optimizer keeps: in shared memory, private to a rank or one for
// all, so that it is part of every snapshot.
type OptimizerState struct {
	Slots [][]float32 // each as long as the weights: velocity; sum of squares; first and second moment
	Steps *uint64     // taken with this state
}

// CreateWeights makes the segment for p weights, all zero, with room for as many workers as
// the run may come to have.
func CreateWeights(c *tuning.Job, p int) (*Weights, error) { return CreateFor(c, p, 0, 0) }

// CreateFor does CreateWeights for p weights, some of them common to all blocks, and for rows that may have dual
// variables.
func CreateFor(c *tuning.Job, p, common, rows int) (*Weights, error) {
	var l shm.Layout
	ranks, states := c.Asked.Ranks(), 1
	if c.Asked.PrivateState() {
		states = ranks
	}
	l.Add("weights", shm.F32, p)
	if c.Asked.Mode.Traits().Barrier {
		l.Add("slots", shm.F32, ranks, p)
	}
	l.Add("state", shm.F32, states, c.Asked.Optimizer.Slots(), p)
	l.Add("steps", shm.U64, states, RankWords)
	l.Add("counts", shm.U64, ranks, RankWords)
	l.Add("records", shm.U64, ranks, RecordWords)
	if c.Asked.Ascends() {
		l.Add("dual", shm.F64, rows)
		l.Add("bounds", shm.F64, ranks, RankWords)
	}
	if measured(c) {
		l.Add("measures", shm.U64, ranks, measuresWords)
	}
	switch {
	case c.Asked.Mode.Traits().Locks:
		l.Add("locks", shm.U32, lockBlocks(p), LockLine)
	case c.Asked.Mode.Traits().Ordered:
		l.Add("tickets", shm.U64, ticketLines(ranks), RankWords)
		l.Add("sleeping", shm.U32, ranks, sleepLine)
	case c.Asked.Mode.Grid > 0:
		l.Add("kept", shm.F32, ranks, p)
		l.Add("kept of", shm.U64, ranks, RankWords)
		l.Add("common", shm.F32, 2+2*c.Asked.Mode.Grid, common)
		l.Add("common of", shm.U64, 2*c.Asked.Mode.Grid)
	}
	seg, err := l.Create("weights")
	if err != nil {
		return nil, config.Usage("%w: %d weights and the optimizer's state; choose a smaller model", err, p)
	}
	return OpenWeights(seg, c)
}

// measured reports whether there is more to tell of training than its loss.
func measured(c *tuning.Job) bool { return c.Asked.Program != "" || c.Asked.Mode.Traits().Simulated }

// OpenWeights finds the arrays in a mapped segment.
func OpenWeights(seg *shm.Segment, c *tuning.Job) (*Weights, error) {
	m := &Weights{Seg: seg}
	var errs [6]error
	var slots []float32
	m.W, errs[0] = shm.View[float32](seg, "weights")
	m.State, errs[1] = shm.View[float32](seg, "state")
	m.Steps, errs[2] = shm.View[uint64](seg, "steps")
	if c.Asked.Mode.Traits().Barrier {
		slots, errs[3] = shm.View[float32](seg, "slots")
	}
	if c.Asked.Ascends() {
		m.Dual, errs[4] = shm.View[float64](seg, "dual")
		m.Bounds, errs[5] = shm.View[float64](seg, "bounds")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	p, k, states := len(m.W), c.Asked.Optimizer.Slots(), c.Asked.Optimizers()
	if len(m.State)*RankWords != len(m.Steps)*k*p || len(m.Steps) < states*RankWords ||
		(c.Asked.Mode.Traits().Barrier && len(slots) < c.Asked.Workers*p) {
		return nil, errors.New("the weights' segment does not have the layout that the configuration implies")
	}
	m.State, m.Steps = m.State[:states*k*p], m.Steps[:states*RankWords]
	for r := 0; r < c.Asked.Workers && c.Asked.Mode.Traits().Barrier; r++ {
		m.Slots = append(m.Slots, slots[r*p:(r+1)*p])
	}
	for i := range states {
		o := OptimizerState{Steps: &m.Steps[i*RankWords]}
		for j := range k {
			o.Slots = append(o.Slots, m.State[(i*k+j)*p:(i*k+j+1)*p])
		}
		m.Optimizers = append(m.Optimizers, o)
	}
	return m, m.openModes(c)
}

// openModes finds what the modes and the samples need besides the weights.
func (m *Weights) openModes(c *tuning.Job) error {
	var errs [7]error
	var records, measures []uint64
	m.Counts, errs[0] = shm.View[uint64](m.Seg, "counts")
	records, errs[1] = shm.View[uint64](m.Seg, "records")
	if measured(c) {
		measures, errs[4] = shm.View[uint64](m.Seg, "measures")
	}
	switch {
	case c.Asked.Mode.Traits().Locks:
		m.Locks, errs[2] = shm.View[uint32](m.Seg, "locks")
	case c.Asked.Mode.Traits().Ordered:
		m.Tickets, errs[2] = shm.View[uint64](m.Seg, "tickets")
		m.sleeping, errs[3] = shm.View[uint32](m.Seg, "sleeping")
	case c.Asked.Mode.Grid > 0:
		m.Kept, errs[2] = shm.View[float32](m.Seg, "kept")
		m.KeptOf, errs[3] = shm.View[uint64](m.Seg, "kept of")
		m.Common, errs[5] = shm.View[float32](m.Seg, "common")
		m.CommonOf, errs[6] = shm.View[uint64](m.Seg, "common of")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	m.Ranks = len(m.Counts) / RankWords
	if m.Ranks < c.Asked.Workers || len(records) != m.Ranks*RecordWords {
		return errors.New("the weights' segment does not have the layout that the configuration implies")
	}
	m.Counts = m.Counts[:c.Asked.Workers*RankWords]
	for r := range m.Ranks { // also of those that have left
		m.Records = append(m.Records, records[r*RecordWords:(r+1)*RecordWords])
	}
	for ; len(measures) >= measuresWords; measures = measures[measuresWords:] {
		m.Measures = append(m.Measures, measures[:measuresWords])
	}
	return nil
}
