package data

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

const (
	noteZeroBased = "feature indices count from 0"
	maxIndex      = 1<<28 - 1 // a wider set would take gigabytes for Freq alone
)

// ZeroBased tells whether the features of the file have the numbers from 0, and not from 1.
func (m *Meta) ZeroBased() bool { return slices.Contains(m.Notes, noteZeroBased) }

// decodeLIBSVM reads lines of "label index:value index:value ...", with comments
// behind '#'. Indices count from 1, or from 0 if an index 0 occurs in the training
// data. The result is sparse, or floats if more than half of the inputs are there.
func decodeLIBSVM(src *source, like *Meta) (*table, error) {
	p := parser{source: src, line: 1}
	t := newTable(src, "libsvm", Sparse)
	values, lines := bytes.Count(src.text, []byte(":")), lines(src.text)
	if err := countable(src.path, lines, 0); err != nil {
		return nil, err
	}
	if err := t.room.take(src.path, int64(values)*8+int64(lines)*20, fmt.Sprintf("%s values in %s rows", count(values), count(lines))); err != nil {
		return nil, err
	}
	var err error
	t.line = make([]int32, 0, lines)
	t.label, t.ptr = arrayOf[float64](t.room, lines, &err), arrayOf[int64](t.room, lines+1, &err)
	t.idx, t.val = arrayOf[uint32](t.room, values, &err), arrayOf[float32](t.room, values, &err)
	if err != nil {
		return nil, err
	}
	t.ptr = append(t.ptr, 0)
	for p.pos < len(p.text) {
		if err := p.row(t); err != nil {
			return nil, err
		}
	}
	t.Rows = len(t.label)
	zeroBased := p.zeroAt != nil
	if like != nil {
		zeroBased = like.ZeroBased()
	}
	switch {
	case zeroBased && like == nil:
		t.notef(noteZeroBased)
	case p.zeroAt != nil && !zeroBased:
		return nil, fmt.Errorf("%w: index 0, but the indices of the training data count from 1", p.zeroAt)
	}
	t.Features = p.width
	if !zeroBased {
		t.Features = max(p.width-1, 0)
		for k := range t.idx {
			t.idx[k]--
		}
	}
	if like != nil {
		t.cut(like.Features)
	}
	many := float64(len(t.val)) > 0.5*float64(t.Rows)*float64(t.Features)
	if t.Features > 0 && (like == nil && many || like != nil && like.Kind != Sparse) {
		return t, t.dense()
	}
	return t, err
}

// lines is how many lines a text has.
func lines(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1
}

// cut gives a sparse table d features, and drops the values of those beyond.
func (t *table) cut(d int) {
	kept, from := 0, int64(0)
	for i := range t.Rows {
		for k := from; k < t.ptr[i+1]; k++ {
			if int(t.idx[k]) < d {
				t.idx[kept], t.val[kept] = t.idx[k], t.val[k]
				kept++
			}
		}
		from, t.ptr[i+1] = t.ptr[i+1], int64(kept)
	}
	if dropped := len(t.idx) - kept; dropped > 0 {
		t.notef("dropped %s values of features beyond %s, the last in the training data", count(dropped), count(d))
	}
	t.idx, t.val, t.Features = t.idx[:kept], t.val[:kept], d
}

// parser walks over the bytes of a LIBSVM file.
type parser struct {
	*source
	pos    int   // the next byte
	line   int   // of pos, from 1
	start  int   // where the line starts
	width  int   // largest index + 1
	zeroAt error // where the first index 0 stands, nil if there is none
	inputs bool  // labels do not matter: they may be missing, or be anything
}

// fail is an error at byte at: path:line:column: text.
func (p *parser) fail(at int, format string, args ...any) error {
	return fmt.Errorf("data: %s:%d:%d: %s", p.path, p.line, at-p.start+1, fmt.Sprintf(format, args...))
}

// row reads one line, appending it to t if it is neither blank nor a comment.
func (p *parser) row(t *table) error {
	if p.atEnd() {
		p.nextLine()
		return nil
	}
	label, err := p.label()
	if err != nil {
		return err
	}
	first, last, sorted := len(t.idx), -1, true
	for !p.atEnd() {
		index, err := p.index()
		if err != nil {
			return err
		}
		value, err := p.number("value")
		if err != nil {
			return err
		}
		sorted = sorted && index > last
		last = index
		p.width = max(p.width, index+1)
		t.idx, t.val = append(t.idx, uint32(index)), append(t.val, float32(value))
	}
	if !sorted {
		if err := p.sort(t.idx[first:], t.val[first:]); err != nil {
			return err
		}
	}
	t.dropZeros(first)
	t.label = append(t.label, label)
	t.line = append(t.line, int32(p.line))
	t.ptr = append(t.ptr, int64(len(t.idx)))
	p.nextLine()
	return nil
}

// dropZeros removes values of 0 that are written out, from the first-th on.
func (t *table) dropZeros(first int) {
	if slices.Index(t.val[first:], 0) < 0 {
		return
	}
	kept := first
	for k := first; k < len(t.val); k++ {
		if t.val[k] != 0 {
			t.idx[kept], t.val[kept] = t.idx[k], t.val[k]
			kept++
		}
	}
	t.idx, t.val = t.idx[:kept], t.val[:kept]
}

// atEnd skips blanks, and says whether the content of the line ends there.
func (p *parser) atEnd() bool {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r':
			p.pos++
			continue
		}
		return p.text[p.pos] == '\n' || p.text[p.pos] == '#'
	}
	return true
}

func (p *parser) nextLine() {
	if i := bytes.IndexByte(p.text[p.pos:], '\n'); i >= 0 {
		p.pos += i + 1
	} else {
		p.pos = len(p.text)
	}
	p.start, p.line = p.pos, p.line+1
}

// index reads "index:".
func (p *parser) index() (int, error) {
	at, v := p.pos, 0
	for p.pos < len(p.text) && p.text[p.pos]-'0' <= 9 {
		v = min(v*10+int(p.text[p.pos]-'0'), maxIndex+1)
		p.pos++
	}
	switch {
	case p.pos == at || p.pos == len(p.text) || p.text[p.pos] != ':':
		if bytes.HasPrefix(p.text[at:], []byte("qid:")) {
			return 0, p.fail(at, "query groups (qid:) are for ranking, which hogwild does not support: remove them")
		}
		return 0, p.fail(at, "%s: want INDEX:VALUE with a whole number as index", human.Quote(p.word(at)))
	case v > maxIndex:
		return 0, p.fail(at, "index %s is above %s, the largest", human.Name(string(p.text[at:p.pos])), count(maxIndex))
	case v == 0 && p.zeroAt == nil:
		p.zeroAt = p.fail(at, "%s", human.Quote(p.word(at)))
	}
	p.pos++
	return v, nil
}

// label reads the label, or skips what stands in its place.
func (p *parser) label() (float64, error) {
	if !p.inputs {
		return p.number("label")
	}
	if word := p.word(p.pos); !strings.Contains(word, ":") {
		p.pos += len(word)
	}
	return 0, nil
}

// number reads a finite number that fits a float32; what it is called in errors.
func (p *parser) number(what string) (float64, error) {
	at := p.pos
	v, n, ok := parseNumber(p.text[at:])
	p.pos += n
	if ok && (p.pos == len(p.text) || p.text[p.pos] <= ' ' || p.text[p.pos] == '#') {
		return v, nil
	}
	word := p.word(at)
	p.pos = at + len(word)
	v, err := strconv.ParseFloat(word, 64)
	switch {
	case err != nil && what == "label":
		return 0, p.fail(at, "label %s: want one number (is it another format? name it with --format)", human.Quote(word))
	case err != nil && !math.IsInf(v, 0):
		return 0, p.fail(at, "%s %s: want a number", what, human.Quote(word))
	case !finite(float64(float32(v))):
		return 0, p.fail(at, "%s %s: want a finite number, at most 3.4e38", what, human.Name(word))
	}
	return v, nil
}

// word is what stands at byte at, up to the next blank.
func (p *parser) word(at int) string {
	end := at
	for end < len(p.text) && p.text[end] > ' ' {
		end++
	}
	return string(p.text[at:end])
}

// sort orders a row by index; an index that is there twice is an error.
func (p *parser) sort(idx []uint32, val []float32) error {
	sort.Sort(byIndex{idx, val})
	for k := 1; k < len(idx); k++ {
		if idx[k] == idx[k-1] {
			return p.fail(p.start, "index %d occurs twice in this row: remove one", idx[k])
		}
	}
	return nil
}

type byIndex struct {
	idx []uint32
	val []float32
}

func (r byIndex) Len() int           { return len(r.idx) }
func (r byIndex) Less(i, j int) bool { return r.idx[i] < r.idx[j] }
func (r byIndex) Swap(i, j int) {
	r.idx[i], r.idx[j] = r.idx[j], r.idx[i]
	r.val[i], r.val[j] = r.val[j], r.val[i]
}
