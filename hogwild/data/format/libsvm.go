package format

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"hogwild/internal/human"
)

// MaxIndex is the largest: a wider set would take gigabytes for its frequencies alone.
const MaxIndex = 1<<28 - 1

// libsvm is a file of lines of "label index:value index:value ...", with comments
// behind '#'. Indices count from 1, or from 0 if an index 0 occurs in the training
// data. Rows like others are as those: of the same features, and dense if they are.
type libsvm struct {
	parser
	File
	o      Options
	idx    []uint32 // of the row
	val    []float32
	x      []float32 // the row, dense
	width  int       // largest index + 1
	zeroAt error     // where the first index 0 stands, nil if there is none
}

func openLIBSVM(s *Source, o Options) (*File, error) {
	p := &libsvm{parser: newParser(s), o: o, idx: []uint32{}} // a row without any is sparse too
	p.Format, p.Kind, p.Next = "libsvm", Sparse, p.next
	if s.rest == nil {
		p.Rows, p.Values = lineCount(s.Text), bytes.Count(s.Text, []byte(":"))
	}
	if o.Like != nil {
		p.Features, p.ZeroBased = o.Like.Features, o.Like.ZeroBased
		if o.Like.Kind != Sparse {
			p.Kind, p.x = Floats, make([]float32, p.Features)
		}
	}
	return &p.File, nil
}

// lineCount returns how many lines a text has.
func lineCount(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1
}

// next reads the next row.
func (p *libsvm) next(row *Row) error {
	err := p.nextLine()
	if err == io.EOF && p.o.Like == nil {
		if p.Features = p.width; !p.ZeroBased {
			p.Features = max(p.width-1, 0)
		}
	}
	if err != nil {
		return err
	}
	if row.Label, err = p.label(); err != nil {
		return err
	}
	if err := p.inputs(); err != nil {
		return err
	}
	switch {
	case p.o.Like == nil:
		p.ZeroBased = p.zeroAt != nil
	case p.zeroAt != nil && !p.ZeroBased:
		return fmt.Errorf("%w: index 0, but the indices of the training data count from 1", p.zeroAt)
	default:
		p.fit()
	}
	row.Line, row.Idx, row.Val = p.line, p.idx, p.val
	if p.x != nil {
		clear(p.x)
		for k, j := range p.idx {
			p.x[j] = p.val[k]
		}
		row.Idx, row.Val = nil, p.x
	}
	return nil
}

// inputs reads what is behind the label, in order, without values of 0 that are written out.
func (p *libsvm) inputs() error {
	p.idx, p.val = p.idx[:0], p.val[:0]
	last, sorted := -1, true
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
		p.idx, p.val = append(p.idx, uint32(index)), append(p.val, float32(value))
	}
	if !sorted {
		if err := p.sort(); err != nil {
			return err
		}
	}
	if slices.Contains(p.val, 0) {
		p.keep(func(k int) bool { return p.val[k] != 0 })
	}
	return nil
}

// keep drops the inputs that are not to be kept.
func (p *libsvm) keep(which func(k int) bool) {
	kept := 0
	for k := range p.idx {
		if which(k) {
			p.idx[kept], p.val[kept] = p.idx[k], p.val[k]
			kept++
		}
	}
	p.idx, p.val = p.idx[:kept], p.val[:kept]
}

// fit numbers the features as the training data does, and drops those that it does not have.
func (p *libsvm) fit() {
	if !p.ZeroBased {
		for k := range p.idx {
			p.idx[k]--
		}
	}
	if n := len(p.idx); n > 0 && int(p.idx[n-1]) >= p.Features {
		p.keep(func(k int) bool { return int(p.idx[k]) < p.Features })
		p.Dropped += n - len(p.idx)
	}
}

// index reads "index:".
func (p *libsvm) index() (int, error) {
	at, v := p.pos, 0
	for p.pos < len(p.text) && p.text[p.pos]-'0' <= 9 {
		v = min(v*10+int(p.text[p.pos]-'0'), MaxIndex+1)
		p.pos++
	}
	switch {
	case p.pos == at || p.pos == len(p.text) || p.text[p.pos] != ':':
		if bytes.HasPrefix(p.text[at:], []byte("qid:")) {
			return 0, p.fail(at, "query groups (qid:) are for ranking, which hogwild does not support: remove them")
		}
		return 0, p.fail(at, "%s: want INDEX:VALUE with a whole number as index", human.Quote(p.word(at)))
	case v > MaxIndex:
		return 0, p.fail(at, "index %s is above %s, the largest", human.Name(string(p.text[at:p.pos])), count(MaxIndex))
	case v == 0 && p.zeroAt == nil:
		p.zeroAt = p.fail(at, "%s", human.Quote(p.word(at)))
	}
	p.pos++
	return v, nil
}

// label reads the label, or skips what stands in its place.
func (p *libsvm) label() (float64, error) {
	if !p.o.Inputs {
		return p.number("label")
	}
	if word := p.word(p.pos); !strings.Contains(word, ":") {
		p.pos += len(word)
	}
	return 0, nil
}

// number reads a finite number that fits a float32; what it is called in errors.
func (p *libsvm) number(what string) (float64, error) {
	at := p.pos
	v, n, ok := parseNumber(p.text[at:])
	p.pos += n
	if ok && (p.pos == len(p.text) || p.text[p.pos] <= ' ' || p.text[p.pos] == '#') {
		return v, nil
	}
	word := p.word(at)
	p.pos = at + len(word)
	v, err := parseFloat(word)
	switch {
	case err != nil && what == "label":
		return 0, p.fail(at, "label %s: want one number (is it another format? name it with --format)",
			human.Quote(word))
	case err != nil && !math.IsInf(v, 0):
		return 0, p.fail(at, "%s %s: want a number", what, human.Quote(word))
	case !finite(v):
		return 0, p.fail(at, "%s %s: want a finite number, at most 3.4e38", what, human.Name(word))
	}
	return v, nil
}

// sort orders the row by index; an index that is there twice is an error.
func (p *libsvm) sort() error {
	sort.Sort(byIndex{p.idx, p.val})
	for k := 1; k < len(p.idx); k++ {
		if p.idx[k] == p.idx[k-1] {
			return p.fail(p.start, "index %d occurs twice in this row: remove one", p.idx[k])
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
