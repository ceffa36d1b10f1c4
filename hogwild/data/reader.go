package data

import "slices"

// Reader forms batches of a set. It owns its scratch memory: it serves one goroutine.
type Reader struct {
	s     *Set
	batch Batch
	form  former
	ahead []int32 // of the rows that Ahead named, those that have not been asked for
	Epoch int     // of the batches to come: windows of words are drawn anew in each
}

// NewReader makes a Reader; any number of them may read one set at the same time.
func (s *Set) NewReader() *Reader {
	return &Reader{s: s, batch: Batch{Features: s.Features}, form: layouts[s.Kind].former(s)}
}

// ValuesPerRow returns how many inputs a row lists on average; each costs a step its
// multiply-adds: the stored ones of sparse rows, all of dense rows, but the non-zero ones
// where the zeros of dense rows are skipped; of pairs 1.
func (s *Set) ValuesPerRow() float64 { return layouts[s.Kind].values(s) }

// lead is how many rows before its turn a row is asked for: memory takes as long as forming a few
// of them.
const lead = 4

// Ahead names the rows of the calls of Batch to come, in order, so that those calls
// can ask memory for them in time. They belong to the Reader until the next Ahead.
func (r *Reader) Ahead(rows []int32) { r.ahead = rows[min(lead, len(rows)):] }

// Batch returns the given rows of the set, in that order; valid until the next call. It
// allocates nothing once it has met its largest batch.
func (r *Reader) Batch(rows []int32) *Batch {
	s, b := r.s, &r.batch
	b.Rows, b.Y, b.M, b.ID, b.Epoch = b.Rows[:0], pick(b.Y[:0], s.Y, rows), pick(b.M[:0], s.M, rows), rows, r.Epoch
	b.W = s.weights(b.W[:0], rows)
	s.standard.to(b.Y)
	r.form(b, rows, r.ahead)
	r.ahead = r.ahead[min(len(rows), len(r.ahead)):]
	return b
}

// pick appends the numbers of rows; of no numbers, none.
func pick(to, of []float32, rows []int32) []float32 {
	if of == nil {
		return to
	}
	n := len(to)
	to = slices.Grow(to, len(rows))[:n+len(rows)]
	for k, i := range rows {
		to[n+k] = of[i]
	}
	return to
}
