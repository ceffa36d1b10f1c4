package data

import (
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

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
		l.meta.notef("left out %s of %s lines, whose labels the training data does not have, such as %s",
			count(unknown), count(len(order)), human.Quote(example))
	}
	if len(rows) == 0 {
		return nil, l.src.Errorf("none of its labels is one of the training data, which has %s",
			format.Some(like.Classes))
	}
	rows, sizes := l.sizes(rows, like)
	if len(rows) == 0 {
		return nil, l.src.Errorf("no line has a word of the training data")
	}
	m, total := l.meta, 0
	l.meta.Notes = nil // each set has its own
	m.Kind, m.Scale, m.Rows, m.Classes, m.Features = Sparse, "none", len(rows), like.Classes, like.Features
	m.Text, m.Seed = like.Text, like.Seed
	for _, n := range sizes {
		total += int(n)
	}
	s, err := create(m, total, l.src.Budget)
	if err != nil {
		return nil, err
	}
	for i, n := range sizes {
		s.Ptr[i+1] = s.Ptr[i] + int64(n)
	}
	return filled(s, l.src.Budget, func(from, to int) {
		l.each(rows, like, from, to, (*text.Features).Of, func(at int, ids []uint32) {
			part := s.Val[s.Ptr[at]:s.Ptr[at+1]]
			copy(s.Idx[s.Ptr[at]:s.Ptr[at+1]], ids)
			for k := range part {
				part[k] = 1 / float32(len(part))
			}
			s.Y[at] = class[l.rows[rows[at]].label]
		})
	})
}

// sizes returns how many features rows have; rows that have none are left out.
func (l *lines) sizes(rows []int32, like *Meta) (kept, sizes []int32) {
	all := make([]int32, len(rows))
	l.each(rows, like, 0, len(rows), (*text.Features).Find, func(at int, ids []uint32) { all[at] = int32(len(ids)) })
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
// in memory. A line with several labels is read once for all its rows that follow one another.
func (l *lines) each(rows []int32, like *Meta, from, to int, find func(*text.Features, []byte) []uint32,
	do func(at int, ids []uint32)) {
	finder := func() func(at, i int) {
		f, line, ids := text.NewFeatures(like.Text), -1, []uint32(nil)
		return func(at, i int) {
			if l.rows[i].at != line {
				line, ids = l.rows[i].at, find(f, l.line(int32(i)))
			}
			do(at, ids)
		}
	}
	if scratch := l.src.Budget.Space(); scratch != nil {
		inOrder(scratch, from, to, func(at int) int { return int(rows[at]) }, finder())
		return
	}
	parallel(from, to, func(from, to int) {
		of := finder()
		for at := from; at < to; at++ {
			of(at, int(rows[at]))
		}
	})
}

// loadLinesLike reads another text with labels as like was read.
func (o Options) loadLinesLike(src *source, like *Meta) (*Set, error) {
	l, err := o.readLines(src, like)
	if err != nil {
		return nil, err
	}
	l.meta.Name = src.Path
	return l.store(allRows(len(l.first)), like)
}
