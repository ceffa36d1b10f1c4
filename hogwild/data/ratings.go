package data

import (
	"math"
	"regexp"
	"strconv"

	"hogwild/internal/human"
)

// Files of triples: row, column and value of a matrix's entries, or two nodes and the
// weight of a graph's edges. As text they are one a line, between commas, colons,
// tabs, semicolons or blanks (MovieLens' u.data, ratings.dat and ratings.csv: what
// follows the third number is left alone), with a line of names above them or not; as
// .npy an array of n x 3. Edges may lack the weight, which is then 1.

// ratingsHead is how ratings look that nobody announced: by the names above them, by
// double colons, or, as u.data, by a time in seconds behind them.
var ratingsHead = regexp.MustCompile(`^(?i:"?user_?(id)?"?[,;\t]\s*"?(movie|item|artist|book|product)_?(id)?"?[,;\t]\s*"?(rating|score|weight)"?)|` +
	`^\d+::\d+::[\d.]+(::|\r?\n)|^\d+\t\d+\t[\d.]+\t\d{9,}\r?\n`)

// headBytes is more than the first line of ratings has: a file of images is one long line.
const headBytes = 4096

// isPairs tells whether the file is read as triples: it was said so, or the model
// takes nothing else, or nobody named a model and it looks so.
func (o Options) isPairs(src *source) bool {
	switch {
	case src.memory != nil:
		return src.memory.Pairs != nil
	case src.text == nil:
		return false
	case o.Format == "ratings" || o.Task == "triples" || o.Task == "edges":
		return true
	}
	return o.Task == "" && (o.Format == "" || o.Format == "auto") && ratingsHead.Match(src.text[:min(len(src.text), headBytes)])
}

// readEntries reads the triples of a file, and lets go of its text.
func readEntries(src *source) (*entries, error) {
	format, err := src.format("auto")
	if err != nil {
		return nil, err
	}
	e := &entries{format: "ratings", room: src.room}
	switch format {
	case "memory":
		e, err = src.memory.entries(src)
	case "npy":
		e.format = "npy"
		err = e.readNPY(src)
	case "idx", "libsvm":
		return nil, src.errorf("looks like %s: want three numbers a line (row, column, value), or an .npy array of n x 3", format)
	default:
		err = e.readText(src)
	}
	if err == nil && len(e.y) == 0 {
		err = src.errorf("no entries in the file (read as three numbers a line)")
	}
	src.done()
	return e, err
}

// entryBytes is what an entry takes: 12 bytes, and a sixth more if it is held out.
const entryBytes = 14

// takeEntries counts the memory of n entries.
func (s *source) takeEntries(n int) error {
	if err := countable(s.path, n, 0); err != nil {
		return err
	}
	return s.room.take(s.path, int64(n)*entryBytes, count(n)+" entries")
}

// readNPY reads an array of n x 3.
func (e *entries) readNPY(src *source) error {
	a, err := src.npy()
	if err != nil {
		return err
	}
	if len(a.shape) != 2 || a.shape[1] != 3 {
		return src.errorf("an array of shape %s: want n x 3: row, column, value", a.shapeText())
	}
	n := a.shape[0]
	if err := src.takeEntries(n); err != nil {
		return err
	}
	e.idx, e.y = arrayOf[uint32](e.room, 2*n, &err), arrayOf[float32](e.room, n, &err)
	if err != nil {
		return err
	}
	e.idx, e.y = e.idx[:2*n], e.y[:n]
	for i := range n {
		for c := range 2 {
			v := a.at(3*i + c)
			if v < 0 || v > maxID || v != math.Trunc(v) {
				return src.errorf("row %d, column %d: %g: an id is a whole number from 0 to %s", i+1, c+1, v, count(maxID))
			}
			e.idx[2*i+c] = uint32(v)
		}
		if e.y[i] = float32(a.at(3*i + 2)); !finite(float64(e.y[i])) {
			return src.errorf("row %d: value %g: want a finite number, at most 3.4e38", i+1, a.at(3*i+2))
		}
	}
	return nil
}

// readText reads lines of text. The first may be names.
func (e *entries) readText(src *source) error {
	text := src.text
	n := lines(text)
	if err := src.takeEntries(n); err != nil {
		return err
	}
	var err error
	e.idx, e.y = arrayOf[uint32](e.room, 2*n, &err), arrayOf[float32](e.room, n, &err)
	if err != nil {
		return err
	}
	p := parser{source: src, line: 1}
	for ; p.pos < len(text); p.nextLine() {
		if p.atEnd() || text[p.pos] == '%' {
			continue
		}
		if c := text[p.pos]; len(e.y) == 0 && (c < '0' || c > '9') && c != '-' {
			continue
		}
		if err := p.entry(e); err != nil {
			return err
		}
	}
	return nil
}

// entry reads the triple of one line.
func (p *parser) entry(e *entries) error {
	for range 2 {
		id, err := p.id()
		if err != nil {
			return err
		}
		e.idx = append(e.idx, id)
		p.separator()
	}
	if p.atEnd() {
		e.y = append(e.y, 1)
		return nil
	}
	at := p.pos
	v, n, ok := parseNumber(p.text[at:])
	if p.pos += n; !ok || p.pos < len(p.text) && !separates(p.text[p.pos]) {
		for p.pos = at; p.pos < len(p.text) && !separates(p.text[p.pos]); p.pos++ {
		}
		var err error
		if v, err = strconv.ParseFloat(string(p.text[at:p.pos]), 64); err != nil || !finite(float64(float32(v))) {
			return p.fail(at, "value %s: want a finite number, at most 3.4e38", human.Quote(string(p.text[at:p.pos])))
		}
	}
	e.y = append(e.y, float32(v))
	return nil
}

// id reads a whole number.
func (p *parser) id() (uint32, error) {
	at, v := p.pos, uint64(0)
	for p.pos < len(p.text) && p.text[p.pos]-'0' <= 9 && v <= maxID {
		v = v*10 + uint64(p.text[p.pos]-'0')
		p.pos++
	}
	if p.pos == at || v > maxID || p.pos < len(p.text) && !separates(p.text[p.pos]) {
		return 0, p.fail(at, "%s: an id is a whole number from 0 to %s", human.Quote(p.word(at)), count(maxID))
	}
	return uint32(v), nil
}

// separator skips what stands between two numbers.
func (p *parser) separator() {
	for p.pos < len(p.text) && p.text[p.pos] != '\n' && separates(p.text[p.pos]) {
		p.pos++
	}
}

func separates(c byte) bool { return c <= ' ' || c == ',' || c == ';' || c == ':' }
