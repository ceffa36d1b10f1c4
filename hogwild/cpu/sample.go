package cpu

import (
	"math"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// sampler measures, at few of a worker's steps, what working without locks does to it:
//
//	staleness  the updates that others wrote between a step's read and its write
//	conflicts  coordinates of its update that another changed between the two
//	losses     coordinates where a store would overwrite another's update
//
// Code that reads weights and later writes an update says so by two calls:
//
//	s.read()    the weights, or what a private copy holds of them, are read from here on
//	s.wrote(n)  n updates that come from this read are in the weights
//
// A worker that trains a copy reads when it renews the copy, and writes when it merges
// the n updates made since. Each n goes into this worker's count, in a line of its own
// that the others add up when they sample. Outside of samples the two calls cost a
// subtraction, an addition and a store.
//
// A loss is seen by loading a coordinate and swapping the same value in just before
// the update is written: if something else comes back, another wrote between a load
// and a store, and would be overwritten. What came back is then added again. Nothing changes where no other writes, so
// that samples, whose moments depend on the clock, leave repeatable runs repeatable.
type sampler struct {
	// shared with other processes
	counts []uint64 // updates written by each rank since the start, a line each; nil: others do not concern us
	own    *uint64
	record control.Record

	// this worker's own
	rank    int
	written uint64 // *own, which no other rank writes
	left    int    // reads until the next sample
	gap     int    // reads from one sample to the next
	open    bool   // between a sampled read and its write
	before  uint64 // the others' updates at the sampled read
	last    time.Time
	waited  bool // since then: for the next epoch
	seed    uint64

	notes  [maxNotes]note
	noted  int
	probes bool // look for losses; not where every write is a compare-and-swap
	tables []model.Table
	copied [][2]int // weights [from, to) that are written by merges, while all others are in place
}

// note is a coordinate as it was when the weights were read.
type note struct {
	at   int
	bits uint32
}

// maxNotes are the coordinates looked at in a sample, and sampleEvery the time between
// two: a sample takes 0.5 microseconds, and 3 where others write the same weights.
const (
	maxNotes    = control.RecordTries
	sampleEvery = 500 * time.Microsecond
)

// newSampler makes the sampler of a rank. In barrier mode a worker trains a replica
// that no other writes.
func newSampler(m *control.Weights, c *tuning.Job, rank int) *sampler {
	s := &sampler{counts: m.Counts, own: &m.Counts[rank*control.RankWords], record: m.Records[rank],
		rank: rank, gap: 1, left: 1, seed: uint64(rank) + 1, last: time.Now(),
		probes: !c.Asked.Mode.Traits().Atomic}
	s.written = *s.own // of the process before this one
	if c.Asked.Mode.Traits().Alone {
		s.counts = nil
	}
	if os.Getenv(device.SampleVariable) == "off" {
		s.left = math.MaxInt
	}
	return s
}

// read says that the weights are read from here on.
func (s *sampler) read() {
	if s.left--; s.left == 0 {
		s.begin()
	}
}

// wrote says that n updates, computed from what was last read, have been written.
func (s *sampler) wrote(n int) {
	s.written += uint64(n)
	*s.own = s.written
	if s.open {
		s.end()
	}
}

// begin starts a sample.
func (s *sampler) begin() {
	s.open, s.noted = true, 0
	s.before = s.others()
}

// others returns how many updates the other ranks have written.
func (s *sampler) others() (sum uint64) {
	for at := 0; at < len(s.counts); at += control.RankWords {
		if at != s.rank*control.RankWords {
			sum += atomic.LoadUint64(&s.counts[at])
		}
	}
	return sum
}

// mark marks a coordinate of the update to come, when a sample is open.
func (s *sampler) mark(w *shared, at int) {
	if s.noted < maxNotes {
		s.notes[s.noted] = note{at, w.load(at)}
		s.noted++
	}
}

// look compares the noted coordinates with what they are now, just before the update
// is written, and tries each for a loss: a few together, as a loop over many weights
// has several on their way.
func (s *sampler) look(w *shared) { s.lookBehind(w, 0) }

// lookBehind looks at the notes behind the first ones, which stay noted.
func (s *sampler) lookBehind(w *shared, first int) {
	for few := range slices.Chunk(s.notes[first:s.noted], 4) {
		for i := range few {
			n := &few[i]
			now := w.load(n.at)
			s.record.CountConflict(s.table(n.at), now != n.bits)
			n.bits = now
		}
		for _, n := range few {
			if s.probes {
				s.record.CountLost(s.table(n.at), w.probe(n.at, n.bits))
			}
		}
	}
	s.noted = first
}

// lookInPlace looks at the weights that are written at once. Weights that the worker has a copy of stay noted until it
// merges.
func (s *sampler) lookInPlace(w *shared) {
	n, notes := 0, s.notes[:s.noted]
	for i := range notes {
		if slices.ContainsFunc(s.copied, func(r [2]int) bool { return r[0] <= notes[i].at && notes[i].at < r[1] }) {
			notes[n], notes[i] = notes[i], notes[n]
			n++
		}
	}
	s.lookBehind(w, n)
}

// table returns the number of the table of a weight: the last one that begins before it, 0 without tables.
func (s *sampler) table(at int) (table int) {
	for i := range s.tables {
		if s.tables[i].From <= at {
			table = i
		}
	}
	return table
}

// end closes a sample and chooses the next step to be sampled.
func (s *sampler) end() {
	s.record.Stale(s.others() - s.before)
	s.open, s.noted = false, 0
	now := time.Now()
	step := max(now.Sub(s.last)/time.Duration(s.gap), 1)
	if !s.waited {
		s.record.AddStepTime(uint64(step))
	}
	s.last, s.waited = now, false
	// A little at random, lest samples keep step with something; and never many times
	// more at once: the first steps of a worker are slow.
	gap := min(int(sampleEvery/step), 8*s.gap)
	s.gap = 1 + gap/2 + s.random(gap+1)
	s.left = s.gap
}

// random returns a number below n.
func (s *sampler) random(n int) int {
	s.seed = s.seed*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
	return int((s.seed >> 33) % uint64(n))
}
