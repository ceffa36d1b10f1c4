package data

import (
	"fmt"

	"hogwild/hogwild/data/format"
)

// noteTwins notes if more than one in twenty of the entries held out stand where one of training does.
func (p *pairs) noteTwins(train, held *table) {
	n := min(len(held.val), mostTwins)
	same := twins(len(train.val), n, train.place, held.place)
	if 20*same > n {
		p.notef("%s of %s test entries have the row and the column of a training entry: remove duplicates, or name a "+
			"test set with --test", count(same), count(n))
	}
}

// loadPairs makes the sets of a file of triples: of a matrix a sixth is held out unless there
// is a test file; a graph is its own test.
func (o Options) loadPairs(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	e, names, err := readEntries(src, o, nil)
	if err != nil {
		return s, err
	}
	graph := o.Task == "edges"
	p, err := e.nodes(src, names, o)
	if err != nil {
		return s, err
	}
	p.Name = o.Path
	readTest = o.tested(readTest, &p.Meta)
	var held, apart *table
	if readTest == nil && !graph && o.Test != None {
		if held, err = e.moveOut(o.Seed, drawHoldOut, func(x uint64) bool { return x%6 == 0 }); err != nil {
			return s, err
		}
		p.notef("held out %s of %s entries (a sixth) as the test set", count(len(held.val)),
			count(len(held.val)+len(e.val)))
		p.noteTwins(e, held)
	}
	if len(e.val) == 0 {
		return s, fmt.Errorf("data: %s has one entry: too few to hold out a test set; name one with --test", o.Path)
	}
	if o.Limit > 0 {
		e.val = e.val[:min(o.Limit, len(e.val))]
	}
	all := len(e.val)
	k, err := o.apart(all, graph)
	if err != nil {
		return s, err
	}
	if k > 0 {
		share := float64(k) / float64(all)
		if apart, err = e.moveOut(o.Seed, drawValidation,
			func(x uint64) bool { return float64(x>>11)/(1<<53) < share }); err != nil {
			return s, err
		}
	}
	if p.Rows = len(e.val); p.Rows == 0 {
		return s, fmt.Errorf("data: validation %s leaves none of %s training entries to train on; give a smaller "+
			"share, or a file", o.Validation, count(all))
	}
	if p.Implicit {
		if p.likes, err = likesOf(p.budget, p.Name, e.idx[:2*p.Rows], p.Shape, nil); err == nil {
			err = p.noteFull(p.likes)
		}
		if err != nil {
			return s, err
		}
	}
	if s.Train, err = p.store(true, o.Seed); err != nil {
		return s, err
	}
	p.Notes, o.train = nil, s.Train // which has them
	if k > 0 {
		s.Validation, err = apart.stored(p.Meta, p.budget, s.Train)
		s.noteApart(o, all)
	} else if o.Validation != "" {
		s.Validation, err = o.loadValidation(&s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	switch {
	case readTest != nil:
		err = s.loadTest(readTest, o)
	case held != nil:
		s.Test, err = held.stored(p.Meta, p.budget, s.Train)
	case graph && o.Test != None:
		s.Test, err = s.Train.again()
	}
	return s, err
}

// Apart returns the entries of a matrix block by block, as o.Grid and o.Apart say, and the set is closed; other sets as
// they are.
func Apart(s *Set, o Options, budget *format.Budget) (*Set, error) {
	if !s.Matrix() || s.Grid > 0 {
		return s, nil
	}
	o.budget = budget
	return gridded(s, gridOf(s, &o), budget)
}
