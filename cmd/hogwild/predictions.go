package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"hogwild/hogwild/saved"
)

// predictions is what the files of predictions have in common.
type predictions struct {
	pairs, proba bool
	texts        bool      // ids of pairs are texts
	heads        [2]string // pairs: the names of the columns of ids
	classes      []string  // nil for values
	numbers      []float64 // the classes, if all of them are numbers
	rows         int
}

// name sets the classes.
func (t *predictions) name(classes []string) {
	t.classes = classes
	for _, name := range classes {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || !json.Valid([]byte(name)) {
			t.numbers = nil
			return
		}
		t.numbers = append(t.numbers, v)
	}
}

// predictionWriter is a file of predictions: begin, add as often as needed, end.
type predictionWriter interface {
	begin() error
	add(p *saved.Predictions) error
	end() error
}

// predictionFormatOf returns the format that the ending of a file names; stdout is CSV.
func predictionFormatOf(path string) (func(*predictions, io.Writer) predictionWriter, error) {
	switch ending := filepath.Ext(path); {
	case path == "" || path == "-" || ending == ".csv":
		return newPredictionCSV, nil
	case ending == ".jsonl":
		return newPredictionJSON, nil
	case ending == ".npy":
		return newPredictionNPY, nil
	}
	return nil, usagef("--out %s: name a .csv, .jsonl or .npy file", path)
}

// predictionText writes lines: CSV, or JSON objects.
type predictionText struct {
	*predictions
	w     *bufio.Writer
	head  func() string
	line  func(p *saved.Predictions, i int) []byte
	names []string // of the classes, quoted
	b     []byte
}

func (t *predictionText) begin() error {
	t.w.WriteString(t.head())
	return t.w.Flush()
}

// add writes whole pieces: who reads along has what has been predicted.
func (t *predictionText) add(p *saved.Predictions) error {
	for i := range p.Values {
		t.b = t.b[:0]
		t.w.Write(t.line(p, i))
	}
	t.rows += len(p.Values)
	return t.w.Flush() // of a bufio.Writer the first error stays
}

func (t *predictionText) end() error { return nil }

func newPredictionCSV(p *predictions, w io.Writer) predictionWriter {
	t := &predictionText{predictions: p, w: bufio.NewWriterSize(w, 1<<16)}
	for _, class := range p.classes {
		t.names = append(t.names, csvLine(class))
	}
	t.line, t.head = t.csv, func() string {
		var head []string
		if p.pairs {
			head = p.heads[:]
		}
		head = append(head, "prediction")
		for i := 0; p.proba && i < len(p.classes); i++ {
			head = append(head, "p_"+p.classes[i])
		}
		return csvLine(head...) + "\n"
	}
	return t
}

// csvLine returns a line of CSV without its end.
func csvLine(cells ...string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(cells) // to memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func (t *predictionText) csv(p *saved.Predictions, i int) []byte {
	if v := p.Values[i]; v != v && !t.pairs && !t.proba {
		return append(t.b, "\"\"\n"...) // readers of CSV skip a blank line
	}
	if t.pairs {
		t.b = append(append(t.b, csvLine(p.Names[i][:]...)...), ',')
	}
	if v := p.Values[i]; v == v {
		t.value(v)
	}
	if t.proba {
		k := len(t.classes)
		for _, v := range p.Probabilities[i*k : (i+1)*k] {
			if t.b = append(t.b, ','); v == v {
				t.b = appendFloat(t.b, v)
			}
		}
	}
	return append(t.b, '\n')
}

// value appends a value, or the name of a class.
func (t *predictionText) value(v float32) {
	if t.classes != nil {
		t.b = append(t.b, t.names[int(v)]...)
	} else {
		t.b = appendFloat(t.b, v)
	}
}

// appendFloat appends the shortest number that is read as the same float32.
func appendFloat(b []byte, v float32) []byte { return strconv.AppendFloat(b, float64(v), 'g', -1, 32) }

func newPredictionJSON(p *predictions, w io.Writer) predictionWriter {
	t := &predictionText{predictions: p, w: bufio.NewWriterSize(w, 1<<16)}
	t.line, t.head = t.json, func() string { return "" }
	for _, class := range p.classes {
		text := []byte(class)
		if p.numbers == nil {
			text, _ = json.Marshal(class) // a string always can be
		}
		t.names = append(t.names, string(text))
	}
	return t
}

func (t *predictionText) json(p *saved.Predictions, i int) []byte {
	t.b = append(t.b, '{')
	for k := 0; t.pairs && k < 2; k++ {
		head, _ := json.Marshal(t.heads[k]) // a string always can be
		id := []byte(p.Names[i][k])
		if t.texts || len(id) == 0 || id[0]-'0' > 9 || !json.Valid(id) {
			id, _ = json.Marshal(p.Names[i][k])
		}
		t.b = fmt.Appendf(t.b, `%s:%s,`, head, id)
	}
	t.b = append(t.b, `"prediction":`...)
	v := p.Values[i]
	if v-v != 0 { // JSON has no infinity either
		return append(t.b, "null}\n"...)
	}
	t.value(v)
	if t.proba {
		k := len(t.classes)
		t.b = append(t.b, `,"probabilities":{`...)
		for c, v := range p.Probabilities[i*k : (i+1)*k] {
			if c > 0 {
				t.b = append(t.b, ',')
			}
			name, quote := t.names[c], ""
			if name[0] != '"' {
				quote = `"`
			}
			t.b = append(append(append(append(t.b, quote...), name...), quote...), ':')
			if v-v != 0 {
				t.b = append(t.b, "null"...)
			} else {
				t.b = appendFloat(t.b, v)
			}
		}
		t.b = append(t.b, '}')
	}
	return append(t.b, "}\n"...)
}

// predictionNPY writes an array, whose header has its number of rows: it is written last.
type predictionNPY struct {
	*predictions
	file    io.Writer
	w       *bufio.Writer
	dtype   string
	columns int // 0: one number a row
	width   int // of texts, in characters
	b       []byte
}

const npyHead = 128 // bytes of the header

func newPredictionNPY(p *predictions, w io.Writer) predictionWriter {
	a := &predictionNPY{predictions: p, file: w, w: bufio.NewWriterSize(w, 1<<16), dtype: "<f4"}
	switch {
	case p.proba:
		a.columns = len(p.classes)
	case p.pairs:
		a.dtype, a.columns = "<f8", 3
	case p.numbers != nil:
		a.dtype = "<f8"
	case p.classes != nil:
		for _, class := range p.classes {
			a.width = max(a.width, utf8.RuneCountInString(class))
		}
		a.dtype = fmt.Sprintf("<U%d", a.width)
	}
	return a
}

func (a *predictionNPY) begin() error {
	_, err := a.w.Write(make([]byte, npyHead))
	return err
}

func (a *predictionNPY) add(p *saved.Predictions) error {
	put32 := func(v float32) { a.b = binary.LittleEndian.AppendUint32(a.b, math.Float32bits(v)) }
	put64 := func(v float64) { a.b = binary.LittleEndian.AppendUint64(a.b, math.Float64bits(v)) }
	a.rows += len(p.Values)
	a.b = a.b[:0]
	if a.proba {
		for _, v := range p.Probabilities {
			put32(v)
		}
		_, err := a.w.Write(a.b)
		return err
	}
	for i, v := range p.Values {
		switch {
		case a.pairs:
			for _, name := range p.Names[i] {
				id, err := strconv.ParseFloat(name, 64)
				if err != nil {
					id = math.NaN()
				}
				put64(id)
			}
			put64(float64(v))
		case a.classes == nil:
			put32(v)
		case v != v && a.numbers != nil:
			put64(math.NaN())
		case a.numbers != nil:
			put64(a.numbers[int(v)])
		default:
			end := len(a.b) + 4*a.width
			if v == v {
				for _, r := range a.classes[int(v)] {
					a.b = binary.LittleEndian.AppendUint32(a.b, uint32(r))
				}
			}
			a.b = append(a.b, make([]byte, end-len(a.b))...)
		}
	}
	_, err := a.w.Write(a.b)
	return err
}

func (a *predictionNPY) end() error {
	if err := a.w.Flush(); err != nil {
		return err
	}
	shape := fmt.Sprintf("(%d,)", a.rows)
	if a.columns > 0 {
		shape = fmt.Sprintf("(%d, %d)", a.rows, a.columns)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", a.dtype, shape)
	head := fmt.Sprintf("\x93NUMPY\x01\x00%c\x00%-*s\n", npyHead-10, npyHead-11, text)
	_, err := a.file.(io.WriterAt).WriteAt([]byte(head), 0)
	return err
}
