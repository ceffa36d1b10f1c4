package tune

import (
	"math"
	"slices"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// heldRows are rows that tuning judges by, in blocks of equal size but for rounding.
type heldRows struct {
	set  *data.Set
	rows []int32
	all  int // of these and those that other seeds hold out
}

// mostHeld are as many rows as tell one rate from another, mostBlocks as many blocks as tell how sure that is. One of
// these may have blockShare of the sum of the losses.
const mostHeld, mostBlocks, blockShare = 20000, 200, 0.1

func newHeldRows(set *data.Set) *heldRows {
	n := min(set.Rows, mostHeld)
	h := &heldRows{set, make([]int32, n), n}
	for i := range h.rows {
		h.rows[i] = int32(i * set.Rows / n)
	}
	return h
}

func (h *heldRows) String() string {
	switch {
	case h == nil:
		return "the rows that they train on"
	case h.all == 1:
		return "1 row held out"
	}
	return human.Count(int64(h.all)) + " rows held out"
}

// losses returns the loss of each block at the weights that a run has saved.
func (h *heldRows) losses(run string) (blocks []float64, err error) {
	f, err := rundir.ReadWeights(run, 0)
	if err != nil {
		return nil, err
	}
	m, err := model.New(f.Saved.Job.Asked.ModelOptions(), f.Saved.Meta)
	if err != nil {
		return nil, err
	}
	w, err := f.Saved.Weights(m.Params())
	if err != nil {
		return nil, err
	}
	n := len(h.rows) / plan.CeilDiv(len(h.rows), mostBlocks)
	reader := h.set.NewReader()
	for i := range n {
		sum := m.Eval(w, reader.Batch(h.rows[i*len(h.rows)/n:(i+1)*len(h.rows)/n]))
		blocks = append(blocks, sum.Loss/float64(sum.N))
	}
	return capped(blocks), nil
}

// capped lowers the largest block, or one of a hundred, to blockShare of the sum where it has more, but not below the
// next: a row far from all others does not decide which rate is best.
func capped(blocks []float64) []float64 {
	sorted := slices.Sorted(slices.Values(blocks))
	slices.Reverse(sorted)
	rest, most := mean(blocks)*float64(len(blocks)), math.Inf(1)
	for i, b := range sorted {
		limit := blockShare * rest / (1 - blockShare*float64(i)) // that many blocks are lowered to it
		if b <= limit || i == max(1, len(blocks)/100) {
			most = max(limit, b)
			break
		}
		rest -= b
	}
	for i := range blocks {
		blocks[i] = min(blocks[i], most)
	}
	return blocks
}

func mean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
}
