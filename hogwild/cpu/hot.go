package cpu

import (
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/shm"
)

// hotCopy is a worker's copy of rows that most steps write, as of frequent words, in a model whose other rows are
// written in place. The worker trains a mapping of the weights in which the pages of these rows are its own: the loops
// that take the steps see one slice.
type hotCopy struct {
	*shm.Overlay[float32]
	base  []float32 // its own pages as they were after the last merge, one range behind the other
	first [][2]int  // the rows that every merge is of
}

// newHotCopy returns a hotCopy; nil where a run merges no hot rows. An error says why memory cannot be mapped so.
func newHotCopy(s *device.Setup) (*hotCopy, error) {
	m, ok := s.Model.(model.Ranked)
	if !ok || s.Job.Used.HotRows == 0 || s.Job.Used.MergeEvery <= 1 {
		return nil, nil
	}
	over, err := shm.NewOverlay[float32](s.Mem.Seg, "weights", rowsOf(m, s.Job.Used.HotRows))
	if err != nil {
		return nil, err
	}
	h := &hotCopy{Overlay: over, first: rowsOf(m, model.HotRows)}
	for _, r := range h.Own {
		h.base = append(h.base, h.View[r[0]:r[1]]...)
	}
	return h, nil
}

// rowsOf returns the weights of the first rows of each table.
func rowsOf(m model.Ranked, rows int) (all [][2]int) {
	for _, r := range m.Hot(rows) {
		all = append(all, [2]int{r.From, r.To})
	}
	return all
}

// merge merges the weights of the ranges, as far as its own pages have them, with the weights of all.
func (h *hotCopy) merge(w *shared, ranges [][2]int) {
	base := h.base
	for _, own := range h.Own {
		for _, r := range ranges {
			if from, to := max(own[0], r[0]), min(own[1], r[1]); from < to {
				w.merge(from, h.View[from:to], base[from-own[0]:])
			}
		}
		base = base[own[1]-own[0]:]
	}
}
