package tune

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// heldRows are rows that tuning judges by, in blocks of equal size but for rounding.
type heldRows struct {
	set  *data.Set
	rows []int32
}

// mostHeld are as many rows as tell one rate from another, mostBlocks as many blocks as tell how sure that is.
const mostHeld, mostBlocks = 20000, 200

func newHeldRows(set *data.Set) *heldRows {
	h := &heldRows{set, make([]int32, min(set.Rows, mostHeld))}
	for i := range h.rows {
		h.rows[i] = int32(i * set.Rows / len(h.rows))
	}
	return h
}

func (h *heldRows) String() string {
	if len(h.rows) == 1 {
		return "1 row held out"
	}
	return human.Count(int64(len(h.rows))) + " rows held out"
}

// losses returns the mean loss of the weights that a run has saved, and that of each block.
func (h *heldRows) losses(run string) (mean float64, blocks []float64, err error) {
	f, err := rundir.ReadWeights(run, 0)
	if err != nil {
		return 0, nil, err
	}
	m, err := model.New(f.Saved.Job.Asked.ModelOptions(), f.Saved.Meta)
	if err != nil {
		return 0, nil, err
	}
	w, err := f.Saved.Weights(m.Params())
	if err != nil {
		return 0, nil, err
	}
	n := min(len(h.rows), mostBlocks)
	reader := h.set.NewReader()
	for i := range n {
		rows := h.rows[i*len(h.rows)/n : (i+1)*len(h.rows)/n]
		sum := m.Eval(w, reader.Batch(rows))
		blocks = append(blocks, sum.Loss/float64(sum.N))
		mean += sum.Loss / float64(len(h.rows))
	}
	return mean, blocks, nil
}
