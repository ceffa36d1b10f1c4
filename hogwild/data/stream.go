package data

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

// Inputs say what is read to be predicted. Labels are ignored: a file may have them or not.
// The last three describe the training data; saved.Saved fills them in.
type Inputs struct {
	Path   string  // as Options.Path, or - for standard input
	Memory *Memory // instead of a file; labels may be missing
	// MaxMemory is how many bytes of the file may be held at once; 0 = DefaultMemory.
	MaxMemory int64
	Format    string // as Options.Format
	// the column that holds labels, by name or 1-based number; "" = as in the training data, if it is there
	Target  string
	Columns string // as Options.Columns; "" = as in the training data

	Like   Meta
	Was    string // its target column
	Places Places // of its ids, if it has pairs
}

// Piece is some rows of a file, in its order, to be predicted at once.
type Piece struct {
	Batch Batch       // the rows without a gap, scaled as the training data
	Gaps  []bool      // of each row of the file: it misses a value, and is not in Batch
	IDs   [][2]uint32 // pairs: of each row the two ids in the file; 0 for texts
	Names [][2]string // pairs: the same as the file spells them
	Heads [2]string   // pairs: the names of the columns of ids
}

// pieceRows is as many rows as a model takes at once in an evaluation.
const pieceRows = 256

// Stream reads the rows of a file in order and calls do with a piece at a time, valid during
// the call. Text is read as it comes: do has all rows that have arrived before more
// input is awaited. The notes say which rows have gaps, and why.
func Stream(in Inputs, do func(*Piece) error) (notes []string, err error) {
	s := &stream{Inputs: in, do: do, idx: []uint32{}}
	s.heads(nil)
	if err = s.read(); err == nil {
		err = s.flush()
	}
	if err == nil && s.rows == 0 {
		err = fmt.Errorf("data: %s: no rows to predict", s.name)
	}
	if s.gaps > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s rows have no prediction, the first at %s", count(s.gaps),
			count(s.rows), s.first))
	}
	if s.file.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("ignored %s values of features beyond %s, the last in the training data",
			count(s.file.Dropped), count(in.Like.Features)))
	}
	return append(notes, s.file.Notes...), err
}

// stream is a file on its way to predictions.
type stream struct {
	Inputs
	do    func(*Piece) error
	name  string // what messages call the file
	file  format.File
	piece Piece
	x     []float32 // dense rows of the piece, one behind the other
	idx   []uint32  // sparse ones; a row without any is sparse too
	val   []float32
	ends  []int // where each sparse row ends in them

	rows, gaps int
	first      string // the first gap
}

// read finds out what the file is, and reads it.
func (s *stream) read() error {
	if s.name = s.Path; s.Memory != nil {
		return s.memory(s.Memory)
	}
	if isDigits(s.Path) || isSynth(s.Path) || isCache(s.Path) {
		if s.Target != "" || s.Format != "" && s.Format != "auto" {
			return fmt.Errorf("data: %s is generated: format and target have no effect with it; leave them out", s.Path)
		}
		set, err := LoadLike(s.Path, s.Format, s.Target, s.Like)
		if err != nil {
			return err
		}
		return s.set(set)
	}
	path, err := evaluationPath(s.Path)
	if err != nil {
		return err
	}
	budget := format.NewBudget(s.MaxMemory)
	if err = s.Places.take(path, budget); err != nil {
		return err
	}
	src, err := format.Stream(path, budget, s.flush)
	if err != nil {
		return err
	}
	defer src.Close()
	s.name = src.Path
	if s.Like.Text != nil {
		return s.texts(src)
	}
	f, err := format.Open(src, format.Options{Format: s.Format, Target: s.Target, Triples: s.Like.Entries(),
		Like: s.Like.known(), Inputs: true, Was: s.Was, Columns: cmp.Or(s.Columns, s.Like.Target)})
	switch {
	case err != nil || f.Rows == 0 && f.Kind == Bytes:
		return err
	case !f.Kind.Entries() && f.Rows > 0 && f.Features != s.Like.Features:
		return otherFeatures(src, f.Features, &s.Like)
	case f.Kind == Bytes:
		return s.bytes(src, f)
	}
	s.heads(f.Heads)
	var row format.Row
	for {
		if err := f.Next(&row); err == io.EOF {
			s.file = *f
			return nil
		} else if err != nil {
			return err
		}
		if err := s.add(&row); err != nil {
			return err
		}
	}
}

// texts streams lines, or the rows of a table.
func (s *stream) texts(src *format.Source) (err error) {
	if err = cmp.Or(knowsWords(&s.Like), src.CheckWords(src.Text)); err != nil {
		return err
	}
	f := format.OpenLines(src)
	if o := (Options{Format: s.Format}); s.Like.Text.Columns != nil && o.isTable(src.Path, &s.Like) {
		o := format.Options{Format: "csv", Target: s.Target, Columns: s.Columns, Inputs: true,
			Like: textColumns(&s.Like)}
		if f, err = format.OpenTexts(src, o); err != nil {
			return err
		}
	}
	features := text.NewFeatures(s.Like.Text)
	var row format.Row
	for err == nil {
		if err = f.Next(&row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		ids := features.Of(row.Bytes[:text.LineEnd(row.Bytes, 0)])
		if len(ids) == 0 {
			err = s.gap(fmt.Sprintf("%s:%d: no word of it is in the training data", s.name, row.Line))
			continue
		}
		s.idx = append(s.idx, ids...)
		for range ids {
			s.val = append(s.val, 1/float32(len(ids)))
		}
		s.ends = append(s.ends, len(s.idx))
		err = s.row(false)
	}
	return err
}

// memory appends all rows or pairs of a set in memory.
func (s *stream) memory(m *Memory) error {
	s.name = cmp.Or(m.Name, "memory")
	if s.Like.Entries() != (m.Pairs != nil) {
		return fmt.Errorf("data: %s: the model takes rows of inputs or, if it was trained on pairs, pairs", s.name)
	}
	for i, ids := range m.Pairs {
		if err := s.add(&format.Row{Line: i, IDs: ids}); err != nil {
			return err
		}
	}
	if m.Pairs != nil {
		return nil
	}
	features, kind := s.Like.Features, m.kind()
	if err := m.check(&format.Source{Path: s.name}, kind, &features); err != nil {
		return err
	}
	for _, r := range m.Rows {
		row := format.Row{Idx: r.Idx, Val: r.Val}
		switch {
		case kind.Sparse() && !s.Like.Sparse():
			row = format.Row{Val: make([]float32, features)}
			for k, j := range r.Idx {
				row.Val[j] = r.Val[k]
			}
		case kind.Sparse() && r.Idx == nil:
			row.Idx = []uint32{}
		}
		if err := s.add(&row); err != nil {
			return err
		}
	}
	return nil
}

// bytes streams rows of bytes as the set that is trained on has them.
func (s *stream) bytes(src *format.Source, f *format.File) error {
	t, err := tableOf(src, f, &s.Like)
	if err != nil {
		return err
	}
	t.Scale, t.Mul, t.Add = s.Like.Scale, s.Like.Mul, s.Like.Add
	set, err := t.store(allRows(t.Rows), make([]float32, t.Rows))
	if err != nil {
		return err
	}
	return s.set(set)
}

// set streams a set, and closes it.
func (s *stream) set(set *Set) error {
	defer set.Close()
	r, rows := set.NewReader(), allRows(set.Rows)
	var ids func(i int) []float64
	if set.Entries() {
		ids = set.triple()
	}
	for part := range slices.Chunk(rows, pieceRows) {
		p := Piece{Batch: *r.Batch(part), Gaps: make([]bool, len(part)), Heads: s.piece.Heads}
		for n := 0; ids != nil && n < len(part); n++ {
			i := part[n]
			t := ids(int(i))
			p.IDs = append(p.IDs, [2]uint32{uint32(t[0]), uint32(t[1])})
			names := [2]string{idText(p.IDs[n][0]), idText(p.IDs[n][1])}
			if set.Columns != nil {
				names = [2]string{set.Columns[set.Idx[2*i]], set.Columns[set.Idx[2*i+1]]}
			}
			p.Names = append(p.Names, names)
		}
		s.rows += len(part)
		if err := s.do(&p); err != nil {
			return err
		}
	}
	return nil
}

// add appends a row, scaled as the training data.
func (s *stream) add(row *format.Row) error {
	switch {
	case s.Like.Entries():
		return s.pair(row)
	case row.Gap != "":
		return s.gap(row.Gap)
	case row.Idx != nil:
		s.idx = append(s.idx, row.Idx...)
		for k, j := range row.Idx {
			s.val = append(s.val, s.Like.scaled(int(j), row.Val[k]))
		}
		s.ends = append(s.ends, len(s.idx))
	default:
		for j, v := range row.Val {
			s.x = append(s.x, s.Like.scaled(j, v))
		}
	}
	return s.row(false)
}

// pair appends a pair; the training data may lack an id of it.
func (s *stream) pair(row *format.Row) error {
	var names, spelled [2]string
	for k, name := range row.Names {
		if number, ok := format.PaddedID(name); ok && s.Like.Columns == nil {
			row.IDs[k], name = number, nil
		}
		if names[k] = string(name); name == nil {
			names[k] = idText(row.IDs[k])
		} else {
			row.IDs[k] = 0
		}
		if spelled[k] = string(row.Cells[k]); row.Cells[k] == nil {
			spelled[k] = names[k]
		}
	}
	s.piece.IDs, s.piece.Names = append(s.piece.IDs, row.IDs), append(s.piece.Names, spelled)
	nodes, ok := s.Places.named(names)
	if row.Gap == "" && !ok {
		row.Gap = fmt.Sprintf("%s:%d: the training data does not have both %s and %s", s.name, row.Line,
			human.Name(names[0]), human.Name(names[1]))
	}
	if row.Gap != "" {
		return s.gap(row.Gap)
	}
	s.idx, s.val = append(s.idx, nodes[:]...), append(s.val, ones[:]...)
	s.ends = append(s.ends, len(s.idx))
	return s.row(false)
}

// heads names the columns of ids, as the file does or else by what they are.
func (s *stream) heads(names []string) {
	own := [2]string{"user", "item"}
	if len(s.Like.Shape) != 2 {
		own = [2]string{"source", "target"}
	}
	s.piece.Heads = own
	for k := 0; k < 2 && names != nil; k++ {
		s.piece.Heads[k] = cmp.Or(names[k], own[k])
	}
}

// gap appends a row with something missing.
func (s *stream) gap(where string) error {
	if s.gaps++; s.gaps == 1 {
		s.first = where
	}
	return s.row(true)
}

func (s *stream) row(gap bool) error {
	s.rows++
	s.piece.Gaps = append(s.piece.Gaps, gap)
	if len(s.piece.Gaps) < pieceRows {
		return nil
	}
	return s.flush()
}

// flush hands over the rows that are there.
func (s *stream) flush() error {
	p := &s.piece
	if len(p.Gaps) == 0 {
		return nil
	}
	b := &p.Batch
	b.Features = s.Like.Features
	for from := 0; from < len(s.x); from += b.Features {
		b.Rows = append(b.Rows, Row{Val: s.x[from : from+b.Features]})
	}
	from := 0
	for _, to := range s.ends {
		b.Rows = append(b.Rows, Row{Idx: s.idx[from:to], Val: s.val[from:to]})
		from = to
	}
	b.Y = make([]float32, len(b.Rows))
	err := s.do(p)
	b.Rows, p.Gaps, p.IDs, p.Names = b.Rows[:0], p.Gaps[:0], p.IDs[:0], p.Names[:0]
	s.x, s.idx, s.val, s.ends = s.x[:0], s.idx[:0], s.val[:0], s.ends[:0]
	return err
}
