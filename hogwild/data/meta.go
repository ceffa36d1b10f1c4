package data

import (
	"errors"
	"fmt"
	"math"
)

// Check refuses a description that no set has. One that was read from a file may promise more
// than any file holds.
func (m *Meta) Check() error {
	d := m.Features
	fits := func(n int) bool { return n <= 1 || n == d }
	switch {
	case m.Rows < 1 || d < 1 || d > maxRows:
		return fmt.Errorf("%d rows of %d features", m.Rows, d)
	case !fits(len(m.Mul)) || !fits(len(m.Add)) || m.Columns != nil && len(m.Columns) != d:
		return fmt.Errorf("scaling of %d and %d, names of %d of %d features", len(m.Mul), len(m.Add), len(m.Columns), d)
	case len(m.Fill) != 0 && len(m.Fill) != d:
		return fmt.Errorf("what fills %d of %d features", len(m.Fill), d)
	case m.Kind == Pairs:
		return m.checkIDs()
	case m.Kind != Bytes && m.Kind != Floats && m.Kind != Sparse && m.Kind != Indices:
		return fmt.Errorf("inputs are stored as %q, which this program does not know", m.Kind)
	}
	return nil
}

// maxRows is the most rows, and features, that a set has: their numbers are int32 in orders and on GPUs.
const maxRows = math.MaxInt32

// countable refuses a set with more of them, before there is memory for it.
func countable(name string, rows, features int) error {
	switch {
	case rows > maxRows:
		return fmt.Errorf("data: %s: %s rows: a set has at most %s, as their numbers have 31 bits: split it", name, count(rows), count(maxRows))
	case features > maxRows:
		return fmt.Errorf("data: %s: %s features (of a matrix: rows and columns): a set has at most %s, as their numbers have 31 bits: choose fewer",
			name, count(features), count(maxRows))
	}
	return nil
}

// checkIDs holds the runs of ids against the shape.
func (m *Meta) checkIDs() error {
	counts := m.Shape // of a matrix: rows and columns
	if len(m.IDs) == 1 {
		counts = []int{m.Features}
	}
	if len(m.IDs) != len(counts) || len(counts) == 2 && counts[0]+counts[1] != m.Features {
		return fmt.Errorf("ids of %d kinds, for a shape of %v and %d features", len(m.IDs), m.Shape, m.Features)
	}
	for i, runs := range m.IDs {
		next, n := 0, 0
		for k := 0; k+1 < len(runs); k += 2 {
			first, length := int(runs[k]), int(runs[k+1])
			if first < next || length < 1 || first+length > maxID+1 {
				return errors.New("its ids are not in order")
			}
			next, n = first+length, n+length
		}
		if len(runs)%2 != 0 || n != counts[i] {
			return fmt.Errorf("%d ids, want %d", n, counts[i])
		}
	}
	return nil
}
