package data

import (
	"fmt"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
)

// loadLabelled makes the sets of a text with labels: a row for each label of each line.
func (o Options) loadLabelled(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	if o.Text == nil || o.Memory != nil {
		return s, src.Errorf("text is read from a file, by Options.Text")
	}
	if o.Scale != "" && o.Scale != "auto" && o.Scale != "none" {
		return s, fmt.Errorf("data: scale %s: text has no numbers to be scaled: leave scale out", o.Scale)
	}
	l, err := o.readLines(src, nil)
	if err != nil {
		return s, err
	}
	t := &table{Meta: Meta{Name: o.Path, Rows: len(l.first), Classes: l.names}}
	rows, held, apart := allRows(t.Rows), []int32(nil), []int32(nil)
	if readTest == nil {
		if rows, held, err = t.holdOut(o.Seed); err != nil {
			return s, err
		}
	}
	if o.Limit > 0 {
		rows = rows[:min(o.Limit, len(rows))]
	}
	all := len(rows)
	k, err := o.apart(all, false)
	if err != nil {
		return s, err
	}
	if k > 0 {
		labels := make([]float32, t.Rows)
		for n, i := range l.first {
			labels[n] = float32(l.rows[i].label)
		}
		rows, apart = t.setApart(rows, labels, k, o.Seed)
	}
	if err = l.number(rows); err != nil {
		return s, err
	}
	l.meta.Name, l.meta.Seed, l.meta.Notes = o.Path, o.Seed, t.Notes
	l.noteLines()
	if s.Train, err = l.store(shuffled(rows, o.Seed, drawRows), &l.meta); err != nil {
		return s, err
	}
	like := &s.Train.Meta
	l.meta.Notes = nil // train has them
	if k > 0 {
		s.Validation, err = l.store(apart, like)
		s.noteApart(o, all)
	} else if o.Validation != "" {
		s.Validation, err = o.loadValidation(like)
	}
	if err != nil {
		return s, err
	}
	if readTest == nil {
		s.Test, err = l.store(held, like)
	} else if s.Test, err = loadTest(readTest, o, like); err == nil {
		s.Train.noteSingle("test", s.Test.Rows)
	}
	return s, err
}

// noteLines says what was read.
func (l *lines) noteLines() {
	v, all, without, m := l.meta.Text.Vocabulary, 0, 0, &l.meta
	for _, n := range v.Counts {
		all += int(n)
	}
	for _, r := range l.rows {
		if r.label < 0 && r.size > 1 {
			without++
		}
	}
	m.notef("%s words, %s different ones that occur %d times or more; %s labels", count(all), count(len(v.Words)),
		max(m.Text.MinCount, 1), count(len(m.Classes)))
	if without > 0 {
		m.notef("left out %s lines without a label", count(without))
	}
}

// store makes a set of lines with labels, by the words and classes of like, in that order. Labels that like does not
// know are left out.
func (l *lines) store(order []int32, like *Meta) (*Set, error) {
	class, known := make([]float32, len(l.names)), map[string]float32{}
	for j, name := range like.Classes {
		known[name] = float32(j)
	}
	for j, name := range l.names {
		class[j] = -1
		if c, is := known[name]; is {
			class[j] = c
		}
	}
	var rows []int32
	unknown, example := 0, ""
	for _, n := range order {
		had := len(rows)
		for i := range l.labelsOf(n) {
			if j := l.rows[i].label; class[j] >= 0 {
				rows = append(rows, i)
			} else {
				example = l.names[j]
			}
		}
		if len(rows) == had {
			unknown++
		}
	}
	if unknown > 0 {
		l.meta.notef("left out %s of %s lines, whose labels the training data does not have, such as %s", count(unknown),
			count(len(order)), example)
	}
	if len(rows) == 0 {
		return nil, l.src.Errorf("none of its labels is one of the training data, which has %s", format.Some(like.Classes))
	}
	rows, sizes := l.sizes(rows, like)
	if len(rows) == 0 {
		return nil, l.src.Errorf("no line has a word of the training data")
	}
	m, total := l.meta, 0
	m.Kind, m.Scale, m.Rows, m.Classes, m.Features = Sparse, "none", len(rows), like.Classes, like.Features
	m.Text, m.Seed = like.Text, like.Seed
	for _, n := range sizes {
		total += int(n)
	}
	s, err := create(m, total, l.src.Room)
	if err != nil {
		return nil, err
	}
	for i, n := range sizes {
		s.Ptr[i+1] = s.Ptr[i] + int64(n)
	}
	err = windows(l.src.Room.Space(), s, len(rows), func(from, to int) {
		l.each(rows, like, from, to, func(at int, ids []uint32) {
			part := s.Val[s.Ptr[at]:s.Ptr[at+1]]
			copy(s.Idx[s.Ptr[at]:s.Ptr[at+1]], ids)
			for k := range part {
				part[k] = 1 / float32(len(part))
			}
			s.Y[at] = class[l.rows[rows[at]].label]
		})
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return sealed(s)
}

// sizes are how many features rows have; rows that have none are left out.
func (l *lines) sizes(rows []int32, like *Meta) (kept, sizes []int32) {
	all := make([]int32, len(rows))
	l.each(rows, like, 0, len(rows), func(at int, ids []uint32) { all[at] = int32(len(ids)) })
	for at, n := range all {
		if n > 0 {
			kept, sizes = append(kept, rows[at]), append(sizes, n)
		}
	}
	if n := len(rows) - len(kept); n > 0 {
		l.meta.notef("left out %s of %s rows, which have none of the words", count(n), count(len(rows)))
	}
	return kept, sizes
}

// each calls do with the features of some rows, by all processors, or in the order of the file where that does not fit
// in memory.
func (l *lines) each(rows []int32, like *Meta, from, to int, do func(at int, ids []uint32)) {
	if sp := l.src.Room.Space(); sp != nil {
		f := text.NewFeatures(like.Text)
		inOrder(sp, from, to, func(at int) int { return int(rows[at]) },
			func(at, i int) { do(at, f.Of(l.line(int32(i)))) })
		return
	}
	parallel(to-from, func(a, b int) {
		f := text.NewFeatures(like.Text)
		for at := from + a; at < from+b; at++ {
			do(at, f.Of(l.line(rows[at])))
		}
	})
}

// linesLike is another text with labels, read as like was.
func (o Options) linesLike(src *source, like *Meta) (*Set, error) {
	l, err := o.readLines(src, like)
	if err != nil {
		return nil, err
	}
	l.meta.Name = src.Path
	return l.store(allRows(len(l.first)), like)
}
