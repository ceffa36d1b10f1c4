package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/data/format"
)

// Sets are the data of a run. They share no row, but for a graph, which is its own test set.
type Sets struct {
	Train, Test *Set
	Validation  *Set   // nil: none was asked for
	HeldOut     string // the share of the training rows that Options.HoldOut has made the validation set, "" for none
}

// Close closes all of them.
func (s *Sets) Close() {
	for _, set := range []*Set{s.Train, s.Validation, s.Test} {
		if set != nil {
			set.Close()
		}
	}
}

// closeOn closes the sets if the function that makes them fails.
func (s *Sets) closeOn(err *error) {
	if *err != nil {
		s.Close()
		*s = Sets{}
	}
}

// MayTake returns a MemoryError if a run that holds the sets may not have need bytes more, of its limit
// in bytes; 0 is DefaultMemory.
func (s *Sets) MayTake(limit, need int64, of, what string) error {
	b := format.NewBudget(limit)
	b.Trains = true
	if b.Asked { // else they are no longer free
		for _, set := range []*Set{s.Train, s.Validation, s.Test} {
			if set != nil && set.seg != nil && !set.seg.InFile() && !set.shared {
				b.Held += int64(set.size())
			}
		}
	}
	if need <= b.Limit-b.Held {
		return nil
	}
	return &format.MemoryError{Of: of, What: what, Need: need, Held: b.Held, Limit: b.Limit, Asked: b.Asked,
		Cure: "choose a smaller model or fewer --workers, or raise it with --max-memory"}
}

// noteApart notes that some of all training rows were held out for validation.
func (s *Sets) noteApart(o Options, all int) {
	if o.HoldOut {
		s.HeldOut = cmp.Or(o.Validation, ownShare) // who asked for it says so
		return
	}
	if s.Validation != nil {
		s.Train.notef("held out %s of %s training rows for validation", count(s.Validation.Rows), count(all))
		s.Train.noteSingle("validation", s.Validation.Rows)
	}
}

// noteSingle remarks on a set of one row.
func (m *Meta) noteSingle(what string, rows int) {
	if rows == 1 {
		m.notef("the %s set has one row: its loss and accuracy say next to nothing", what)
	}
}

// disjoint refuses a file for validation or test whose rows are another set's.
func (s *Sets) disjoint(o Options) error {
	type pair struct {
		what, path  string
		set         *Set
		other, cure string
		holds       *Set
	}
	var pairs []pair
	if _, share, _ := ValidationShare(o.Validation); !share && s.HeldOut == "" && s.Validation != nil {
		const cure = "give a share of the training rows, such as 0.1"
		pairs = []pair{{"validation", o.Validation, s.Validation, "training", cure, s.Train},
			{"validation", o.Validation, s.Validation, "test", cure, s.Test}}
	}
	if o.Test != "" && o.TestMemory == nil && !o.Unjudged && !isSynth(o.Test) { // which has rows of its own
		pairs = append(pairs, pair{"test", o.Test, s.Test, "training", "leave test out to hold out a sixth", s.Train})
	}
	for _, p := range pairs {
		if p.set.Checksum == p.holds.Checksum {
			return fmt.Errorf("data: %s %s: the file holds the %s rows: name another one, or %s", p.what, p.path,
				p.other, p.cure)
		}
	}
	return nil
}

// ValidationShare reads a share of the training rows, above 0 and below 1. Another text, is
// false, is a path.
func ValidationShare(text string) (share float64, is bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	share, parse := strconv.ParseFloat(number, 64)
	if parse != nil {
		return 0, false, nil
	}
	if percent {
		return 0, true, fmt.Errorf("data: validation %s: write the share as a number, %g", text, share/100)
	}
	if !(share > 0 && share < 1) {
		return 0, true, fmt.Errorf("data: validation %s: want a share of the training rows above 0 and below 1, such "+
			"as 0.1, or a file", text)
	}
	return share, true, nil
}

// Options.HoldOut takes ownShare of at least enoughRows: of fewer the validation set would be too small to say when to
// stop, and networks need all of them. Of 500 digits a run that held some out ended worse than one that overfitted, of
// 1,000 better.
const (
	ownShare   = "0.1"
	enoughRows = 1000
)

// apart returns how many of n training rows are held out for validation, 0 for none.
func (o Options) apart(n int, graph bool) (int, error) {
	if o.HoldOut && o.Validation == "" && n >= enoughRows {
		o.Validation = ownShare
	}
	if o.Validation == "" {
		return 0, nil
	}
	share, is, err := ValidationShare(o.Validation)
	switch {
	case err != nil:
		return 0, err
	case graph:
		return 0, fmt.Errorf("data: validation %s: %s is a graph, and cut trains on all of its edges; leave "+
			"validation out", o.Validation, o.Path)
	case !is:
		return 0, nil
	}
	k := max(1, int(math.Round(share*float64(n))))
	if k >= n {
		return 0, fmt.Errorf("data: validation %s leaves none of %s training rows to train on; give a smaller share, "+
			"or a file", o.Validation, count(n))
	}
	return k, nil
}

// setApart splits the training rows: k of them, drawn by the seed, are for validation. Both
// parts stay in the order of the file. Of each class the same share is held out, give or
// take a row: sorted by class, the rows that are taken are evenly spaced.
func (t *table) setApart(rows []int32, y []float32, k int, seed uint64) (train, validation []int32) {
	order := shuffled(rows, seed, drawValidation)
	if t.Classes != nil {
		slices.SortStableFunc(order, func(a, b int32) int { return int(y[a]) - int(y[b]) })
	}
	held := make([]bool, t.Rows)
	for i, row := range order {
		held[row] = (i+1)*k/len(order) > i*k/len(order)
	}
	for _, row := range rows {
		if held[row] {
			validation = append(validation, row)
		} else {
			train = append(train, row)
		}
	}
	return train, validation
}
