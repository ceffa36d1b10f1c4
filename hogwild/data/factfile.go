package data

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	idx    []uint32 // three a fact
	budget *format.Budget
}

// readFacts reads the facts that are trained on, and numbers entities and relations: by falling count, and last the
// entities that only other files have. Nothing is learnt of them, but their facts count, as in published figures.
func readFacts(src *source, path string, others []string) (*facts, error) {
	f, err := openFacts(src)
	if err != nil {
		return nil, err
	}
	var number [2]map[string]uint32
	var names [2][]string
	var counts [2][]int
	number[0], number[1] = map[string]uint32{}, map[string]uint32{}
	all := &facts{budget: src.Budget}
	add := func(side int, name string) (id uint32) {
		id, ok := number[side][name]
		if !ok {
			id = uint32(len(names[side]))
			number[side][name], names[side], counts[side] = id, append(names[side], name), append(counts[side], 0)
		}
		return id
	}
	read, err := f.each(func(fact [3]string) {
		for k, name := range fact {
			id := add(k%2, name)
			counts[k%2][id]++
			all.idx = append(all.idx, id)
		}
	})
	trained := len(names[0])
	for _, path := range others {
		if err != nil {
			break
		}
		err = eachOf(path, src.Budget, func(fact [3]string) {
			if _, known := number[1][fact[1]]; known {
				add(0, fact[0])
				add(0, fact[2])
			}
		})
	}
	if err == nil {
		held := int64(read) * factBytes
		for _, of := range names {
			for _, name := range of {
				held += nameBytes + 2*int64(len(name))
			}
		}
		err = src.Budget.Take(src.Path, held, count(read)+" facts")
	}
	if err != nil {
		return nil, err
	}
	var place [2][]uint32
	var columns []string
	for side, n := range counts {
		order := make([]uint32, len(n))
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortStableFunc(order, func(a, b uint32) int { return n[b] - n[a] })
		place[side] = make([]uint32, len(n))
		for i, id := range order {
			place[side][id] = uint32(side*len(names[0]) + i)
			columns = append(columns, names[side][id])
		}
	}
	entities := len(names[0])
	for i, id := range all.idx {
		all.idx[i] = place[i%3%2][id]
	}
	all.meta = Meta{Name: path, Format: "facts", Rows: read, Read: read, Kind: Facts, Scale: "none",
		Features: len(columns), Shape: []int{entities, len(names[1])}, Columns: columns, Checksum: src.Checksum()}
	if trained < entities {
		all.meta.notef("nothing is learnt of %s of %s entities, which are in other facts alone: these count in the "+
			"figures", count(entities-trained), count(entities))
	}
	src.Done()
	return all, nil
}

// eachOf calls do for each fact in a file.
func eachOf(path string, budget *format.Budget, do func(fact [3]string)) error {
	src, err := read(path, budget)
	if err != nil {
		return err
	}
	defer src.Done()
	f, err := openFacts(src)
	if err == nil {
		_, err = f.each(do)
	}
	return err
}

// loadFactsLike reads other facts of the entities and relations that m describes; others are counted and left out.
func loadFactsLike(src *source, m *Meta) (*Set, error) {
	f, err := openFacts(src)
	if err != nil {
		return nil, err
	}
	number := [2]map[string]uint32{{}, {}}
	for i, name := range m.Columns {
		side := 0
		if i >= m.Shape[0] {
			side = 1
		}
		number[side][name] = uint32(i)
	}
	all, known, example := &facts{meta: *m, budget: src.Budget}, true, ""
	all.meta.Name, all.meta.Checksum, all.meta.Notes, all.meta.Nonzeros = src.Path, src.Checksum(), nil, 0
	all.meta.Read, err = f.each(func(fact [3]string) {
		var ids [3]uint32
		known = true
		for k, name := range fact {
			id, ok := number[k%2][name]
			if ids[k] = id; !ok && known {
				known, example = false, cmp.Or(example, name)
			}
		}
		if known {
			all.idx = append(all.idx, ids[:]...)
		}
	})
	if err != nil {
		return nil, err
	}
	all.meta.Rows = len(all.idx) / 3
	if left := all.meta.Read - all.meta.Rows; left > 0 {
		all.meta.notef("left out %s of %s facts, of entities or relations that the training data does not have, "+
			"such as %s",
			count(left), count(all.meta.Read), human.Quote(example))
		if all.meta.Rows == 0 {
			return nil, src.Errorf("%s: is it another graph?", strings.TrimPrefix(all.meta.Notes[0], "data: "))
		}
	}
	src.Done()
	return all.store(false, 0)
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
