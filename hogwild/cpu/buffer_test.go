package cpu

import (
	"slices"
	"testing"
)

// TestMergesAlone: a worker that merges with the lock gives it back; one that finds it in
// the hands of another that does not go on merges all the same, and leaves it there.
func TestMergesAlone(t *testing.T) {
	for _, holder := range []uint32{0, 7} {
		lock := holder
		h := &hot{shared: []float32{1, 2}, mine: []float32{4, 5}, base: []float32{3, 3}, lock: &lock}
		h.merge()
		if lock != holder || !slices.Equal(h.shared, []float32{2, 4}) || !slices.Equal(h.mine, h.shared) {
			t.Errorf("lock %d: afterwards %d, weights %v, copy %v", holder, lock, h.shared, h.mine)
		}
	}
}
