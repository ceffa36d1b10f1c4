package format

import (
	"io"
	"math"
	"strconv"

	"hogwild/internal/human"
)

// triples is a file of them: row, column and value of a matrix's entries, or two nodes and the
// weight of a graph's edges. As text they are one a line, between commas, colons,
// tabs, semicolons or blanks (MovieLens' u.data, ratings.dat and ratings.csv: what
// follows the third number is left alone), with a line of names above them or not; as
// .npy an array of n x 3. Edges may lack the weight, which is then 1. Those to be predicted
// have no values, or any.
type triples struct {
	parser
	File
	inputs bool
	begun  bool // a row has been there
}

func openTriples(s *Source, is string, inputs bool) (*File, error) {
	p := &triples{parser: newParser(s), inputs: inputs}
	p.Format, p.Kind, p.Next = "ratings", Pairs, p.next
	switch {
	case is == "npy":
		return openTripleArray(s, inputs)
	case (is == "idx" || is == "libsvm") && inputs:
		return nil, s.Errorf("looks like %s: want two ids a line (row, column), or an .npy array of n x 2", is)
	case is == "idx" || is == "libsvm":
		return nil, s.Errorf("looks like %s: want three numbers a line (row, column, value), or an .npy array of n x 3",
			is)
	case s.rest == nil:
		p.Rows = lineCount(s.Text)
	}
	return &p.File, nil
}

// next reads the next line that is no comment. The first may be names.
func (p *triples) next(row *Row) (err error) {
	for {
		if err := p.nextLine(); err != nil {
			return err
		}
		c := p.text[p.pos]
		if names := !p.begun && (c < '0' || c > '9') && c != '-'; c != '%' && !names {
			break
		}
	}
	p.begun, row.Line = true, p.line
	for k := range row.IDs {
		if row.IDs[k], err = p.id(); err != nil {
			return err
		}
		p.separator()
	}
	if !p.inputs {
		row.Label, err = p.value()
	}
	return err
}

// value reads the value, which may be missing.
func (p *triples) value() (float64, error) {
	if p.atEnd() {
		return 1, nil
	}
	at := p.pos
	v, n, ok := parseNumber(p.text[at:])
	if p.pos += n; !ok || p.pos < len(p.text) && !separates(p.text[p.pos]) {
		for p.pos = at; p.pos < len(p.text) && !separates(p.text[p.pos]); p.pos++ {
		}
		var err error
		if v, err = strconv.ParseFloat(string(p.text[at:p.pos]), 64); err != nil || !finite(v) {
			return 0, p.fail(at, "value %s: want a finite number, at most 3.4e38",
				human.Quote(string(p.text[at:p.pos])))
		}
	}
	return v, nil
}

// openTripleArray reads an array of n x 3, or, to be predicted, of n x 2.
func openTripleArray(s *Source, inputs bool) (*File, error) {
	a, err := readArray(s)
	if err != nil {
		return nil, err
	}
	want := "3: row, column, value"
	if inputs {
		want = "2: row, column"
	}
	if len(a.shape) != 2 || a.shape[1] != 3 && !(inputs && a.shape[1] == 2) {
		return nil, s.Errorf("an array of shape %s: want n x %s", a.shapeText(), want)
	}
	f := &File{Known: Known{Format: "npy", Kind: Pairs}, Rows: a.shape[0]}
	i, d := 0, a.shape[1]
	f.Next = func(row *Row) error {
		if i == f.Rows {
			return io.EOF
		}
		for c := range row.IDs {
			v := a.at(d*i + c)
			if v < 0 || v > MaxID || v != math.Trunc(v) {
				return s.Errorf("row %d, column %d: %g: an id is a whole number from 0 to %s", i+1, c+1,
					v, count(MaxID))
			}
			row.IDs[c] = uint32(v)
		}
		if !inputs {
			if row.Label = a.at(d*i + 2); !finite(row.Label) {
				return s.Errorf("row %d: value %g: want a finite number, at most 3.4e38", i+1, row.Label)
			}
		}
		i++
		row.Line = i
		return nil
	}
	return f, nil
}
