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
	base []float32 // its own pages as they were after the last merge, one range behind the other
}

// newHotCopy returns a hotCopy; nil where a run merges no hot rows. An error says why memory cannot be mapped so.
func newHotCopy(s *device.Setup) (*hotCopy, error) {
	m, ok := s.Model.(model.Ranked)
	if !ok || s.Job.Used.HotRows == 0 || s.Job.Used.MergeEvery <= 1 {
		return nil, nil
	}
	var hot [][2]int
	for _, r := range m.Hot(s.Job.Used.HotRows) {
		hot = append(hot, [2]int{r.From, r.To})
	}
	over, err := shm.NewOverlay[float32](s.Mem.Seg, "weights", hot)
	if err != nil {
		return nil, err
	}
	h := &hotCopy{Overlay: over}
	for _, r := range h.Own {
		h.base = append(h.base, h.View[r[0]:r[1]]...)
	}
	return h, nil
}

// merge merges it with the weights.
func (h *hotCopy) merge(w *shared) {
	base := h.base
	for _, r := range h.Own {
		w.merge(r[0], h.View[r[0]:r[1]], base)
		base = base[r[1]-r[0]:]
	}
}
