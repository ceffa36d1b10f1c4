package data

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

// Kind is how the inputs of a set are stored. Each has a file, with its layout.
type Kind = format.Kind

// The kinds.
const (
	Bytes   = format.Bytes
	Floats  = format.Floats
	Sparse  = format.Sparse
	Pairs   = format.Pairs
	Tokens  = format.Tokens
	Indices = format.Indices
	Facts   = format.Facts
)

// Meta says what a set is. It is stored with the set in shared memory and, as far
// as it is needed to read other data in the same way, with the weights.
type Meta struct {
	Name     string `json:"name"`           // how the user named it: digits, or the path
	Format   string `json:"format"`         // digits, idx, libsvm, csv, npy, ratings, text, synth
	Rows     int    `json:"rows"`           // n
	Read     int    `json:"read,omitempty"` // rows, entries, lines or words of the file: these are some or all
	Features int    `json:"features"`       // d
	Nonzeros int64  `json:"nonzeros"`
	Kind     `json:"kind"`
	// of one example when it is an image: [28, 28]; pairs: of the matrix; facts: entities and relations
	Shape []int `json:"shape,omitempty"`
	// names of the features, where the file has them; pairs: the ids, in the order of the nodes, if some are no
	// numbers; facts: the entities and then the relations, each by falling count
	Columns []string `json:"columns,omitempty"`
	// the column that was predicted, where columns have names; pairs: Options.Columns
	Target string            `json:"target,omitempty"`
	Named  bool              `json:"named,omitempty"` // the columns have names in the file, and not only numbers
	Dates  map[string]string `json:"dates,omitempty"` // columns of dates, and the order of these: ymd, dmy, mdy
	Marks  map[string]string `json:"marks,omitempty"` // columns of numbers written as 1.234,5 or 1,234.5
	// of each feature: what stands for a missing value; nil: rows that lack one are left out
	Fill     []float32 `json:"fill,omitempty"`
	Classes  []string  `json:"classes,omitempty"` // the labels as the file writes them; nil for regression
	Scale    string    `json:"scale"`             // auto, none, unit, standard or "MEAN,STD": what was asked
	Mul      []float32 `json:"mul,omitempty"`     // x' = x*Mul + Add; length 0 (nothing to do), 1 or d
	Add      []float32 `json:"add,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // what was done to the data that the user should know
	Seed     uint64    `json:"seed,omitempty"`  // digits and synthetic data: what they were made from
	Checksum string    `json:"checksum"`        // sha256 of the file's bytes (hex), or of the generator's name and seed

	Text *text.Options `json:"text,omitempty"` // how a text was read; nil: the set is none

	Grid    int    `json:"grid,omitempty"`   // pairs: the rows lie block by block: see Grid
	Targets Spread `json:"targets,omitzero"` // pairs: how the values lie
	// pairs: entries are what users liked, those with a value of at least Positive; 0: all
	Implicit bool    `json:"implicit,omitempty"`
	Positive float32 `json:"positive,omitempty"`
	// pairs: the ids in the file, in runs (see idRuns): of rows and of columns, or of nodes
	IDs [][]uint32 `json:"ids,omitempty"`
}

// noteZeroBased is kept with the weights, among the Notes.
const noteZeroBased = "feature indices count from 0"

// ZeroBased reports whether the features of the file have the numbers from 0, and not from 1.
func (m *Meta) ZeroBased() bool { return slices.Contains(m.Notes, noteZeroBased) }

// known returns what it takes to read files as this one was read; nil if there is none.
func (m *Meta) known() *format.Known {
	if m == nil {
		return nil
	}
	return &format.Known{Format: m.Format, Kind: m.Kind, Features: m.Features, Columns: m.Columns, Target: m.Target,
		Named: m.Named,
		Dates: m.Dates, Marks: m.Marks, Fill: m.Fill, ZeroBased: m.ZeroBased()}
}

// Tasks: what users liked, and the facts of a graph.
const (
	likesTask = "likes"
	factsTask = "facts"
)

// Spread is how numbers lie.
type Spread struct {
	Mean      float32 `json:"mean"`
	Deviation float32 `json:"deviation"` // standard
	Min       float32 `json:"min"`
	Max       float32 `json:"max"`
}

// spreadOf returns how y lies.
func spreadOf(y []float32) Spread {
	s := Spread{Min: y[0], Max: y[0]}
	var sum, squares float64
	for _, v := range y {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(y))
	s.Mean = float32(sum / n)
	s.Deviation = float32(math.Sqrt(max(0, squares/n-sum/n*(sum/n))))
	return s
}

// Check refuses a description that no set has. One that was read from a file may promise more
// than any file holds.
func (m *Meta) Check() error {
	d := m.Features
	switch {
	case m.Rows < 1 || d < 1 || d > format.MaxRows:
		return fmt.Errorf("%d rows of %d features", m.Rows, d)
	case !m.fits(len(m.Mul)) || !m.fits(len(m.Add)) || m.Columns != nil && len(m.Columns) != d:
		return fmt.Errorf("scaling of %d and %d, names of %d of %d features", len(m.Mul), len(m.Add), len(m.Columns), d)
	case len(m.Fill) != 0 && len(m.Fill) != d:
		return fmt.Errorf("what fills %d of %d features", len(m.Fill), d)
	case m.Entries():
		return m.checkIDs()
	case !slices.Contains([]Kind{Bytes, Floats, Sparse, Tokens, Indices, Facts}, m.Kind):
		return fmt.Errorf("inputs are stored as %q, which this program does not know", m.Kind)
	}
	return nil
}

// fits reports whether numbers are one for all features, or one for each.
func (m *Meta) fits(n int) bool { return n <= 1 || n == m.Features }

// checkIDs holds the runs of ids against the shape.
func (m *Meta) checkIDs() error {
	counts := m.Shape // of a matrix: rows and columns
	if len(m.IDs) == 1 {
		counts = []int{m.Features}
	}
	if len(m.IDs) != len(counts) || !m.Graph() && !m.Matrix() ||
		len(counts) == 2 && counts[0]+counts[1] != m.Features {
		return fmt.Errorf("ids of %d kinds, for a shape of %v and %d features", len(m.IDs), m.Shape, m.Features)
	}
	for i, runs := range m.IDs {
		next, n := 0, 0
		for k := 0; k+1 < len(runs); k += 2 {
			first, length := int(runs[k]), int(runs[k+1])
			if first < next || length < 1 || first+length > format.MaxID+1 {
				return errors.New("its ids are not in order")
			}
			next, n = first+length, n+length
		}
		if len(runs)%2 != 0 || n < 1 || n != counts[i] {
			return fmt.Errorf("%d ids, want %d", n, counts[i])
		}
	}
	return nil
}

// Matrix reports whether rows are the entries of a matrix, of Shape.
func (m *Meta) Matrix() bool { return m.Entries() && len(m.Shape) == 2 }

// Graph reports whether rows are the edges of a graph.
func (m *Meta) Graph() bool { return m.Entries() && len(m.Shape) == 0 }

// count writes n with commas: 20,433.
func count(n int) string { return human.Count(int64(n)) }

func (m *Meta) notef(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// scaled returns a value of feature j as sets of this scaling have it.
func (m *Meta) scaled(j int, v float32) float32 {
	mul, add := m.scaling(j)
	return float32(float64(v)*float64(mul) + float64(add))
}

// scaling returns Mul and Add of feature j.
func (m *Meta) scaling(j int) (mul, add float32) {
	at := func(v []float32, none float32) float32 {
		switch len(v) {
		case 0:
			return none
		case 1:
			return v[0]
		}
		return v[j]
	}
	return at(m.Mul, 1), at(m.Add, 0)
}
