package data

import (
	"slices"
	"testing"
)

// The training set is a permutation that depends on the seed alone, the test set is in order, and a
// worker that maps the file sees the same.
func TestLoadIndices(t *testing.T) {
	load := func(limit int, seed uint64) Sets {
		s, err := LoadIndices(1000, 10, limit, seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	s, again, other := load(0, 1), load(0, 1), load(0, 2)
	if !slices.Equal(s.Train.Idx, again.Train.Idx) || slices.Equal(s.Train.Idx, other.Train.Idx) {
		t.Error("the order does not depend on the seed alone")
	}
	inOrder := slices.Sorted(slices.Values(s.Train.Idx))
	for i, v := range inOrder {
		if int(v) != i || len(inOrder) != 1000 {
			t.Fatalf("position %d of %d has %d", i, len(inOrder), v)
		}
	}
	if slices.IsSorted(s.Train.Idx) || !slices.IsSorted(s.Test.Idx) || len(s.Test.Idx) != 10 {
		t.Error("training examples are not shuffled, or test examples are")
	}
	if limited := load(100, 1); !slices.Equal(limited.Train.Idx, s.Train.Idx[:100]) {
		t.Error("with a limit they are not the first of the order")
	}
	mapped, err := Map(duplicate(t, s.Train.File()))
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	if mapped.Kind != Indices || !slices.Equal(mapped.Idx, s.Train.Idx) {
		t.Errorf("a worker maps %s, %d indices", mapped.Kind, len(mapped.Idx))
	}
	if err := mapped.Check(); err != nil {
		t.Error(err)
	}
}
