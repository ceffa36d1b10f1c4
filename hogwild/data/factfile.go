package data

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// factFile is a file of triples: a head, a relation and a tail of any names a line, between tabs or else blanks. A file
// whose first line is a number is OpenKE's: the number of lines, and then head, tail and relation, whose names may be
// in entity2id.txt and relation2id.txt in the same folder.
type factFile struct {
	src   *source
	at    [3]int               // the columns of head, relation and tail
	begin int                  // where the first fact is
	lines int                  // that OpenKE's first line promises; -1: there is none
	names [2]map[string]string // of the ids of entities and of relations; nil: ids are names
}

// factBytes is about what a fact takes while it is read, nameBytes a name.
const factBytes = 16

func openFacts(src *source) (*factFile, error) {
	f := &factFile{src: src, at: [3]int{0, 1, 2}, lines: -1}
	first := bytes.TrimSpace(src.Text[:format.LineEnd(src.Text, 0)])
	n, err := strconv.Atoi(string(first))
	if err != nil {
		return f, nil
	}
	f.at, f.begin, f.lines = [3]int{0, 2, 1}, format.LineEnd(src.Text, 0), n
	for k, name := range idFiles {
		path := filepath.Join(filepath.Dir(src.Path), name)
		if format.Existing(path) == "" {
			continue
		}
		if f.names[k], err = readIDs(path, src.Budget); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// idFiles are OpenKE's.
var idFiles = [2]string{"entity2id.txt", "relation2id.txt"}

// readIDs returns the names of the ids in one of OpenKE's files: a number of lines, then a name and an id each.
func readIDs(path string, budget *format.Budget) (map[string]string, error) {
	src, err := read(path, budget)
	if err != nil {
		return nil, err
	}
	defer src.Done()
	names, line := map[string]string{}, 1
	for at := format.LineEnd(src.Text, 0); at < len(src.Text); {
		end := format.LineEnd(src.Text, at)
		line++
		if cells := bytes.Fields(src.Text[at:end]); len(cells) == 2 {
			names[string(cells[1])] = string(cells[0])
		} else if len(cells) > 0 {
			return nil, fmt.Errorf("data: %s:%d: %s, want two: a name and its id", path, line,
				human.Plural(len(cells), "column"))
		}
		at = end
	}
	return names, nil
}

// each calls do with head, relation and tail of each line. Lines that have no three columns are an error.
func (f *factFile) each(do func(fact [3]string)) (n int, err error) {
	text, line, bad := f.src.Text, 0, 0
	tabs := bytes.IndexByte(text[f.begin:format.LineEnd(text, f.begin)], '\t') >= 0
	if f.lines >= 0 {
		line++
	}
	for at := f.begin; at < len(text); {
		end := format.LineEnd(text, at)
		row := bytes.TrimRight(text[at:end], "\r\n")
		at, line = end, line+1
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		cells := bytes.Fields(row)
		if tabs {
			cells = bytes.Split(row, []byte{'\t'})
		}
		var fact [3]string
		why := ""
		switch {
		case len(cells) != 3:
			why = human.Plural(len(cells), "column") + ", want three"
		case !tabs && bytes.Count(row, []byte{','}) == 2: // whose blanks are in names
			why = "commas between three columns"
		}
		for k, j := range f.at {
			if why != "" {
				break
			}
			name := string(bytes.TrimSpace(cells[j]))
			if names := f.names[k%2]; names != nil {
				id := name
				if name = names[id]; name == "" {
					why = fmt.Sprintf("%s is no id of %s", human.Quote(id), idFiles[k%2])
				}
			} else if name == "" {
				why = "an empty name"
			}
			fact[k] = name
		}
		if why != "" {
			if bad++; bad == 1 {
				order := "head, relation and tail, between tabs"
				if f.lines >= 0 {
					order = "head, tail and relation, as OpenKE has them"
				}
				err = fmt.Errorf("data: %s:%d: %s: a line is %s", f.src.Path, line, why, order)
			}
			continue
		}
		n++
		do(fact)
	}
	switch {
	case bad > 1:
		err = fmt.Errorf("%w (and %s more such lines)", err, count(bad-1))
	case bad > 0:
	case n == 0:
		err = f.src.Errorf("no facts in the file: a line is head, relation and tail, between tabs")
	case f.lines >= 0 && n != f.lines:
		err = f.src.Errorf("%s facts, and the first line promises %s: the file is incomplete, or damaged", count(n),
			count(f.lines))
	}
	return n, err
}

// facts are read ones.
type facts struct {
	meta   Meta
	idx    []uint32   // three a fact
	left   *[3]string // the first that was left out; nil: none was
	budget *format.Budget
}

// graph numbers the entities and the relations of a knowledge graph.
type graph struct {
	number [2]map[string]uint32
	names  [2][]string
	counts [2][]int // in training facts
	fixed  bool     // no other name gets a number
}

func newGraph() *graph { return &graph{number: [2]map[string]uint32{{}, {}}} }

// graphOf returns the numbers of a graph that m describes.
func graphOf(m *Meta) *graph {
	g := newGraph()
	g.fixed = true
	for i, name := range m.Columns {
		side := 0
		if i >= m.Shape[0] {
			side = 1
		}
		g.number[side][name] = uint32(i)
	}
	return g
}

// read reads the facts of a file. All names in those that are trained on get a number. So do the entities in others
// with a known relation: nothing is learnt of them, but their facts count, as in published figures. The rest is left
// out.
func (g *graph) read(src *source, trains bool) (*facts, error) {
	f, err := openFacts(src)
	if err != nil {
		return nil, err
	}
	all, held := &facts{budget: src.Budget, meta: Meta{Name: src.Path, Checksum: src.Checksum()}}, int64(0)
	all.meta.Read, err = f.each(func(fact [3]string) {
		_, adds := g.number[1][fact[1]]
		adds = trains || adds && !g.fixed
		var ids [3]uint32
		for k, name := range fact {
			side := k % 2
			id, ok := g.number[side][name]
			switch {
			case !ok && !adds:
				if all.left == nil {
					all.left = &fact
				}
				return
			case !ok:
				id = uint32(len(g.names[side]))
				g.number[side][name], g.names[side], g.counts[side] = id, append(g.names[side], name),
					append(g.counts[side], 0)
				held += nameBytes + 2*int64(len(name))
			}
			if ids[k] = id; trains {
				g.counts[side][id]++
			}
		}
		all.idx = append(all.idx, ids[:]...)
	})
	all.meta.Rows = len(all.idx) / 3
	if err == nil {
		err = src.Budget.Take(src.Path, int64(all.meta.Rows)*factBytes+held, count(all.meta.Read)+" facts")
	}
	if err != nil {
		return nil, err
	}
	src.Done()
	return all, nil
}

// finish numbers entities and relations by falling count, and last the entities that only other facts have, and
// describes the facts that are trained on.
func (g *graph) finish(path string, all *facts, others ...*facts) {
	var place [2][]uint32
	var columns []string
	for side, n := range g.counts {
		order := make([]uint32, len(n))
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return n[b] - n[a] })
		place[side] = make([]uint32, len(n))
		for i, id := range order {
			place[side][id] = uint32(side*len(g.names[0]) + i)
			columns = append(columns, g.names[side][id])
		}
	}
	for _, f := range append(others, all) {
		for i := 0; f != nil && i < len(f.idx); i++ {
			f.idx[i] = place[i%3%2][f.idx[i]]
		}
	}
	entities, only := len(g.names[0]), 0
	for _, n := range g.counts[0] {
		if n == 0 {
			only++
		}
	}
	m := &all.meta
	m.Name, m.Format, m.Kind, m.Scale = path, "facts", Facts, "none"
	m.Features, m.Shape, m.Columns = len(columns), []int{entities, len(g.names[1])}, columns
	if only > 0 {
		m.notef("nothing is learnt of %s of %s entities, which are in other facts alone: these count in the figures",
			count(only), count(entities))
	}
}

// like returns facts other than the ones that m describes as a set. What was left out of them is counted.
func (f *facts) like(m *Meta, g *graph) (*Set, error) {
	own := f.meta
	f.meta = *m
	f.meta.Name, f.meta.Checksum, f.meta.Rows, f.meta.Read = own.Name, own.Checksum, own.Rows, own.Read
	f.meta.Notes, f.meta.Nonzeros = nil, 0
	if left := own.Read - own.Rows; left > 0 {
		example := ""
		for k, name := range f.left {
			if _, known := g.number[k%2][name]; !known {
				example = cmp.Or(example, name)
			}
		}
		f.meta.notef("left out %s of %s facts, of entities or relations that the training data does not have, "+
			"such as %s", count(left), count(own.Read), human.Quote(example))
		if own.Rows == 0 {
			return nil, fmt.Errorf("data: %s: %s: is it another graph?", own.Name, f.meta.Notes[0])
		}
	}
	return f.store(false, 0)
}

// moveOut moves facts to others, at least one: those whose number, drawn from the seed, is among the ones to be held
// out.
func (f *facts) moveOut(seed, draw uint64, among func(x uint64) bool) *facts {
	held, kept, key := &facts{meta: f.meta, budget: f.budget}, f.idx[:0], mix(mix(seed)+draw)
	for i := range f.meta.Rows {
		fact := [3]uint32(f.idx[3*i:])
		if among(mix(key+uint64(i))) || i == f.meta.Rows-1 && len(held.idx) == 0 {
			held.idx = append(held.idx, fact[:]...)
		} else {
			kept = append(kept, fact[:]...)
		}
	}
	f.idx, f.meta.Rows, held.meta.Rows, held.meta.Notes = kept, len(kept)/3, len(held.idx)/3, nil
	return held
}

// store puts the facts into a sealed segment, in their own order or in one drawn from the seed.
func (f *facts) store(shuffle bool, seed uint64) (*Set, error) {
	s, err := create(f.meta, 0, f.budget)
	if err != nil {
		return nil, err
	}
	key := mix(mix(seed) + drawRows)
	return filled(s, f.budget, inParallel(func(from, to int) {
		for i := from; i < to; i++ {
			j := i
			if shuffle && f.meta.Rows > 1 {
				j = permute(i, f.meta.Rows, key)
			}
			copy(s.Idx[3*i:3*i+3], f.idx[3*j:])
		}
	}))
}
