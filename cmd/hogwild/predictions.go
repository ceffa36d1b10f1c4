package main

import (
	"bufio"
	"io"
	"strconv"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/saved"
)

// predictions is a file of predictions, as CSV: begin, then add as often as needed.
type predictions struct {
	pairs, proba bool
	classes      []string // nil for values
	rows         int

	w     *bufio.Writer
	names []string // of the classes, quoted
	b     []byte
}

func newPredictions(s *saved.Saved, proba bool, w io.Writer) *predictions {
	p := &predictions{pairs: s.Pairs(), proba: proba, classes: s.Classes(), w: bufio.NewWriterSize(w, 1<<16)}
	for _, class := range p.classes {
		p.names = append(p.names, format.CSVLine(class))
	}
	return p
}

// begin writes the head; heads are the names of the columns of ids.
func (t *predictions) begin(heads [2]string) error {
	var head []string
	if t.pairs {
		head = heads[:]
	}
	head = append(head, "prediction")
	for i := 0; t.proba && i < len(t.classes); i++ {
		head = append(head, "p_"+t.classes[i])
	}
	t.w.WriteString(format.CSVLine(head...) + "\n")
	return t.w.Flush()
}

// add writes whole pieces: who reads along has what has been predicted.
func (t *predictions) add(p *saved.Predictions) error {
	for i := range p.Values {
		t.b = t.line(t.b[:0], p, i)
		t.w.Write(t.b)
	}
	t.rows += len(p.Values)
	return t.w.Flush() // of a bufio.Writer the first error stays
}

// line appends the line of prediction i.
func (t *predictions) line(b []byte, p *saved.Predictions, i int) []byte {
	v := p.Values[i]
	switch {
	case v != v && !t.pairs && !t.proba:
		return append(b, "\"\"\n"...) // readers of CSV skip a blank line
	case t.pairs:
		b = append(append(b, format.CSVLine(p.Names[i][:]...)...), ',')
	}
	switch {
	case v != v:
	case t.classes != nil:
		b = append(b, t.names[int(v)]...)
	default:
		b = appendFloat(b, v)
	}
	if t.proba {
		k := len(t.classes)
		for _, v := range p.Probabilities[i*k : (i+1)*k] {
			if b = append(b, ','); v == v {
				b = appendFloat(b, v)
			}
		}
	}
	return append(b, '\n')
}

// appendFloat appends the shortest number that is read as the same float32.
func appendFloat(b []byte, v float32) []byte { return strconv.AppendFloat(b, float64(v), 'g', -1, 32) }
