package data

// loadLabelled makes the sets of a text with labels: a row for each label of each line.
func (o Options) loadLabelled(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	l, err := o.readLines(src, nil)
	if err != nil {
		return s, err
	}
	t := &table{Meta: l.meta}
	t.Name, t.Rows, t.Classes = o.Path, len(l.first), l.names
	labels := make([]float32, t.Rows)
	for n, i := range l.first {
		labels[n] = float32(l.rows[i].label)
	}
	readTest = o.tested(readTest, &t.Meta)
	rows, held, apart, err := o.divide(t, labels, readTest != nil || o.Test == None)
	if err == nil {
		err = l.number(rows)
	}
	if err != nil {
		return s, err
	}
	l.meta.Name, l.meta.Seed, l.meta.Notes = o.Path, o.Seed, t.Notes
	l.noteLines()
	if s.Train, err = l.store(shuffled(rows, o.Seed, drawRows), &l.meta); err != nil {
		return s, err
	}
	like := &s.Train.Meta
	if apart != nil {
		s.Validation, err = l.store(apart, like)
		s.noteApart(o, len(rows)+len(apart))
	} else if o.Validation != "" {
		s.Validation, err = o.loadValidation(like)
	}
	if err != nil {
		return s, err
	}
	if held != nil {
		s.Test, err = l.store(held, like)
	} else if readTest != nil {
		err = s.loadTest(readTest, o)
	}
	return s, err
}

// noteLines says what was read.
func (l *lines) noteLines() {
	v, all, m := l.meta.Text.Vocabulary, 0, &l.meta
	for _, n := range v.Counts {
		all += int(n)
	}
	m.notef("%s words, %s different ones that occur %d times or more; %s labels", count(all), count(len(v.Words)),
		max(m.Text.MinCount, 1), count(len(m.Classes)))
	if without := m.Read - len(l.first); without > 0 {
		m.notef("left out %s lines without a label", count(without))
	}
}
