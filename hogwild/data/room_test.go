package data

import (
	"slices"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// matrixRoom returns the filled room of a matrix of 3 x 2.
func matrixRoom(t *testing.T, idx []uint32, y []float32) *Room {
	t.Helper()
	r, err := NewRoom(Meta{Kind: Pairs, Rows: len(y), Features: 5, Shape: []int{3, 2}}, 0, false, format.NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	copy(r.set.Idx, idx)
	copy(r.set.Y, y)
	return r
}

// A matrix that another process fills in is the set that the same entries in memory make.
func TestRoomOfMatrix(t *testing.T) {
	s, err := matrixRoom(t, []uint32{0, 3, 1, 4, 2, 3, 0, 4}, []float32{1, 2, 3, 6}).Sealed("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := &Memory{Pairs: [][2]uint32{{0, 0}, {1, 1}, {2, 0}, {0, 1}}, Y: []float32{1, 2, 3, 6}}
	sets, err := LoadSets(Options{Memory: m, TestMemory: m})
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Close()
	want := sets.Train
	if s.Targets != want.Targets || !slices.Equal(s.Freq, want.Freq) || !slices.Equal(s.Shape, want.Shape) ||
		s.Nonzeros != want.Nonzeros || !slices.Equal(s.IDs[0], want.IDs[0]) || !slices.Equal(s.IDs[1], want.IDs[1]) {
		t.Errorf("the set of a room is %+v, want %+v", s.Meta, want.Meta)
	}
	grid, err := Apart(s, Options{Grid: 2}, format.NewBudget(0))
	if err != nil || grid.Grid != 2 || grid.Rows != 4 {
		t.Fatalf("by blocks: %v, %v", grid, err)
	}
	defer grid.Close()
	g := NewGrid(grid, 2)
	for i := 1; i < grid.Rows; i++ {
		if g.Block(grid.Idx[2*i-2], grid.Idx[2*i-1]) > g.Block(grid.Idx[2*i], grid.Idx[2*i+1]) {
			t.Errorf("entry %d lies before an earlier block", i)
		}
	}
}

func TestRoomRefusesEntriesOutsideTheMatrix(t *testing.T) {
	for _, idx := range [][]uint32{{3, 3}, {0, 2}, {0, 5}, {0, 1 << 31}} {
		r := matrixRoom(t, idx, []float32{1})
		_, err := r.Sealed("", nil)
		check.Error(t, err, "an entry is outside of the matrix")
		r.Close()
	}
	for _, shape := range [][]int{nil, {5}, {5, 0}, {-1, 6}} {
		_, err := NewRoom(Meta{Kind: Pairs, Rows: 1, Features: 5, Shape: shape}, 0, false, format.NewBudget(0))
		check.Error(t, err, "want its rows and columns")
	}
	_, err := NewRoom(Meta{Kind: Pairs, Rows: 1, Features: 5, Shape: []int{3, 3}}, 0, false, format.NewBudget(0))
	check.Error(t, err, "want its rows and columns")
}
