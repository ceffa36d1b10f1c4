package data

import (
	"cmp"
	"fmt"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// readEntries reads the triples of a file, two ids and a value each, and lets go of its text. Ids that are texts have
// the numbers that names gives them.
func readEntries(src *source, o Options, like *Meta) (e *table, names *idNames, err error) {
	var f *format.File
	names = &idNames{number: map[string]uint32{}}
	if src.memory != nil {
		f = src.memory.triples(src.Source)
	} else {
		if like != nil {
			o.Columns = cmp.Or(o.Columns, like.Target)
		}
		is := format.Options{Triples: true, Graph: o.Task == "edges", Columns: o.Columns, Like: like.known()}
		if o.Task == likesTask {
			is.Lists, is.Format = true, o.Format
		}
		if f, err = format.Open(src.Source, is); err != nil {
			return nil, nil, err
		}
	}
	if len(f.Heads) == 2 && o.Positive > 0 && o.Task == likesTask {
		return nil, nil, src.Errorf("no column of values, which --positive %g is about: leave it out, or name one "+
			"with --columns user=NAME,item=NAME,value=NAME", o.Positive)
	}
	if len(f.Heads) == 2 && like != nil && !like.Implicit && len(like.Shape) == 2 &&
		like.Targets.Min < like.Targets.Max {
		return nil, nil, src.Errorf("no column of values, with which predictions could be compared: predict takes it " +
			"as it is; or name one with --columns user=NAME,item=NAME,value=NAME")
	}
	next := f.Next
	f.Next = func(row *format.Row) error {
		err := next(row)
		for k := range row.Names {
			if err == nil && row.Names[k] != nil {
				row.IDs[k], err = names.add(src, row.Names[k])
			}
		}
		return err
	}
	if e, err = tableOf(src.Source, f, nil); err == nil && e.Rows == 0 {
		err = src.Errorf("no entries in the file (read as three numbers a line)")
	}
	if err == nil && o.Task == likesTask && o.Positive > 0 {
		err = e.keepPositive(src, o.Positive)
	}
	src.Done()
	return e, names, err
}

// idNames are ids that are texts: text k has the number firstName + k.
type idNames struct {
	texts  []string
	number map[string]uint32
}

const firstName = format.MaxID + 1

// nameBytes is about what an id takes without its letters, twice: while the file is read, and in Meta.
const nameBytes = 150

func (t *idNames) add(src *source, name []byte) (uint32, error) {
	id, ok := t.number[string(name)]
	if ok {
		return id, nil
	}
	if err := src.Budget.Take(src.Path, int64(nameBytes+2*len(name)), "an id"); err != nil {
		return 0, err
	}
	id = firstName + uint32(len(t.texts))
	t.texts = append(t.texts, string(name))
	t.number[t.texts[len(t.texts)-1]] = id
	return id, nil
}

// name returns how the file writes an id.
func (t *idNames) name(id uint32) string {
	if id >= firstName {
		return t.texts[id-firstName]
	}
	return idText(id)
}

// renumber gives ids their numbers if all are numbers, some with zeros in front. If not, it numbers them in the order
// in which they come, and returns them in it: all ids of a graph, or row ids and then column ids.
func (t *idNames) renumber(ids []uint32, graph bool) (names []string) {
	plain, all := make([]uint32, len(t.texts)), true
	for k, text := range t.texts {
		var ok bool
		plain[k], ok = format.PaddedID(text)
		all = all && ok
	}
	number, side := [2]map[uint32]uint32{{}, {}}, [2][]string{}
	for i, id := range ids {
		k := i % 2
		if graph {
			k = 0
		}
		if all && id >= firstName {
			ids[i] = plain[id-firstName]
		}
		if all {
			continue
		}
		n, ok := number[k][id]
		if !ok {
			n = uint32(len(side[k]))
			number[k][id], side[k] = n, append(side[k], t.name(id))
		}
		ids[i] = n
	}
	return slices.Concat(side[0], side[1])
}

// nodes turns ids into nodes. A matrix has a node for each id of a row
// that occurs, in order of value, and then one for each id of a column; a graph
// has one for each id. An edge has the smaller node first; loops, which no cut can
// part, are left out.
func (e *table) nodes(src *source, names *idNames, o Options) (*pairs, error) {
	graph, implicit := o.Task == "edges", o.Task == likesTask
	named := names.renumber(e.idx, graph)
	var most [2]uint32
	for i, id := range e.idx {
		most[i%2] = max(most[i%2], id)
	}
	if graph {
		most[0] = max(most[0], most[1])
	}
	rows, err := newIDs(src, most[0])
	if err != nil {
		return nil, err
	}
	second := rows
	if !graph {
		if second, err = newIDs(src, most[1]); err != nil {
			return nil, err
		}
	}
	for i := range e.val {
		rows.add(e.idx[2*i])
		second.add(e.idx[2*i+1])
	}
	p := &pairs{budget: src.Budget, Meta: Meta{Name: src.Path, Format: e.Format, Kind: Pairs, Scale: "none",
		Checksum: src.Checksum(), Columns: named, Target: e.Target, Marks: e.Marks, Read: e.Read,
		Notes: e.Notes}}
	if implicit {
		p.Implicit, p.Positive = true, o.Positive
	}
	n, offset := rows.count(), 0
	p.Features, p.IDs = n, [][]uint32{rows.runs()}
	if !graph {
		m := second.count()
		p.Shape, p.Features, offset = []int{n, m}, n+m, n
		p.IDs = append(p.IDs, second.runs())
	}
	if named != nil {
		p.notef("ids such as %s are no whole numbers: all are numbered in the order in which they come",
			human.Quote(names.texts[0]))
	}
	if y := spreadOf(e.val); y.Min == y.Max && !graph && !implicit && len(e.val) > 1 {
		p.notef("warning: all values are %g, so there is nothing to learn: from what users liked (implicit feedback) "+
			"the models bpr:64 and warp:64 learn", y.Min)
	}
	kept := 0
	for i, y := range e.val {
		a, _ := rows.place(e.idx[2*i])
		b, _ := second.place(e.idx[2*i+1])
		if graph && a == b {
			continue
		}
		if graph && a > b {
			a, b = b, a
		}
		e.idx[2*kept], e.idx[2*kept+1], e.val[kept] = a, b+uint32(offset), y
		kept++
	}
	if kept < len(e.val) {
		p.Notes = append(p.Notes, count(len(e.val)-kept)+" edges from a node to itself are left out")
	}
	if e.val = e.val[:kept]; !graph {
		p.noteCopies(e)
	}
	p.Rows, p.at, p.weight, p.read = kept, e.at, e.weight, true
	return p, nil
}

func (e *table) at(i int) (a, b uint32, y float32) { return e.idx[2*i], e.idx[2*i+1], e.val[i] }

// stored returns the entries as a set that m describes. What the users of the training set, if it is known, liked is
// known of them.
func (e *table) stored(m Meta, budget *format.Budget, train *Set) (s *Set, err error) {
	m.Rows = len(e.val)
	p := &pairs{Meta: m, budget: budget, at: e.at, read: true}
	if m.Implicit {
		if p.likes, err = likesOf(budget, m.Name, e.idx[:2*m.Rows], m.Shape, train); err != nil {
			return nil, err
		}
	}
	return p.store(false, 0)
}

// moveOut moves entries, at least one, to others: those whose number, drawn from the seed, is
// among the ones to be held out.
func (e *table) moveOut(seed, draw uint64, among func(x uint64) bool) (*table, error) {
	held, kept, key := &table{budget: e.budget}, 0, mix(mix(seed)+draw)
	n := 1
	for i := range e.val {
		if among(mix(key + uint64(i))) {
			n++
		}
	}
	var err error
	held.idx, held.val = format.Array[uint32](e.budget, 2*n, &err), format.Array[float32](e.budget, n, &err)
	if err != nil {
		return nil, err
	}
	for i, y := range e.val {
		if among(mix(key+uint64(i))) || i == len(e.val)-1 && len(held.val) == 0 {
			held.idx, held.val = append(held.idx, e.idx[2*i], e.idx[2*i+1]), append(held.val, y)
			continue
		}
		if e.idx[2*kept], e.idx[2*kept+1], e.val[kept] = e.idx[2*i], e.idx[2*i+1], y; e.weight != nil {
			e.weight[kept] = e.weight[i]
		}
		kept++
	}
	e.val = e.val[:kept]
	return held, nil
}

// loadPairsLike reads other entries of the matrix (or graph) that m describes. Entries
// in rows and columns that it does not know are counted and left out: there is nothing
// that could be said of them.
func loadPairsLike(src *source, o Options, m *Meta) (*Set, error) {
	switch o.Task = ""; {
	case len(m.Shape) != 2:
		o.Task = "edges"
	case m.Implicit:
		o.Task, o.Positive = likesTask, m.Positive
	}
	e, names, err := readEntries(src, o, m)
	if err != nil {
		return nil, err
	}
	places, err := m.Places(src.Budget)
	if err != nil {
		return nil, err
	}
	kept := 0
	for i, y := range e.val {
		ids := [2]uint32(e.idx[2*i:])
		nodes, ok := places.Nodes(ids)
		if max(ids[0], ids[1]) >= firstName {
			nodes, ok = places.named([2]string{names.name(ids[0]), names.name(ids[1])})
		}
		if ok {
			copy(e.idx[2*kept:], nodes[:])
			e.val[kept] = y
			kept++
		}
	}
	left := *m
	left.Name, left.Checksum, left.Read, left.Notes, left.Nonzeros = src.Path, src.Checksum(), e.Read, nil, 0
	if kept < len(e.val) {
		text := fmt.Sprintf("left out %s of %s entries, of ids that the training data does not have",
			count(len(e.val)-kept), count(len(e.val)))
		if left.Notes = []string{text}; kept == 0 {
			return nil, src.Errorf("%s: is it another set?", text)
		}
	}
	e.val = e.val[:kept]
	return e.stored(left, src.Budget, o.train)
}

// describePairs says what a file of triples holds.
func (o Options) describePairs(src *source) (Meta, error) {
	e, names, err := readEntries(src, o, nil)
	if err != nil {
		return Meta{}, err
	}
	as, y := Options{Task: o.Task, Positive: o.Positive}, spreadOf(e.val)
	if o.Task == "" && y.Min == y.Max && len(e.val) > 1 {
		as.Task = likesTask
		e.notef("all values are %g: taken for what users liked; --task edges takes them for edges of a graph", y.Min)
	}
	p, err := e.nodes(src, names, as)
	if err != nil {
		return Meta{}, err
	}
	p.Targets, p.Nonzeros = y, 2*int64(len(e.val))
	return p.Meta, nil
}

// keepPositive leaves out entries below a value.
func (e *table) keepPositive(src *source, least float32) error {
	all, kept, spread := len(e.val), 0, spreadOf(e.val)
	for i, y := range e.val {
		if y >= least {
			e.idx[2*kept], e.idx[2*kept+1], e.val[kept] = e.idx[2*i], e.idx[2*i+1], y
			kept++
		}
	}
	if kept == 0 {
		return src.Errorf("--positive %g: all values are from %g to %g, so nothing is liked: choose a lower one", least,
			spread.Min, spread.Max)
	}
	e.idx, e.val = e.idx[:2*kept], e.val[:kept]
	e.notef("%s of %s entries have a value of at least %g, and are what users liked", count(kept), count(all), least)
	return nil
}
