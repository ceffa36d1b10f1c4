package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseNumber reads a plain decimal number, n bytes long, at the start of b. Digits
// that fit a float64 exactly, divided by a power of ten that does, are the nearest
// float64 (Clinger 1990); anything else is not ok, and left to strconv.
func parseNumber[T string | []byte](b T) (v float64, n int, ok bool) {
	negative := false
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		negative = b[n] == '-'
		n++
	}
	var digits uint64
	from, point := n, -1
	for ; n < len(b); n++ {
		if c := b[n] - '0'; c <= 9 {
			digits = digits*10 + uint64(c)
		} else if b[n] == '.' && point < 0 {
			point = n + 1
		} else {
			break
		}
	}
	length, decimals := n-from, 0
	if point >= 0 {
		length, decimals = length-1, n-point
	}
	if length < 1 || length > 18 || digits > 1<<53 {
		return 0, n, false
	}
	v = float64(digits) / powersOfTen[decimals]
	if negative {
		v = -v
	}
	return v, n, true
}

// Number is the number in a cell; it may be too large for a float32, or infinite.
func Number(cell string) (float64, bool) {
	if v, n, ok := parseNumber(cell); ok && n == len(cell) {
		return v, true
	}
	if cell == "" || cell[0] > '9' && cell[0]|0x20 != 'i' {
		return 0, false // spares the error that ParseFloat would make of a text
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil || v != 0 // out of range is a number still
}

// isMissing says whether a cell stands for a value that is not known: it is empty, ?, NA,
// N/A, NaN or null.
func isMissing(cell string) bool {
	switch {
	case len(cell) == 0:
		return true
	case len(cell) == 1:
		return cell[0] == '?'
	case len(cell) > 4 || cell[0]|0x20 != 'n': // of no word below
		return false
	}
	return strings.EqualFold(cell, "na") || strings.EqualFold(cell, "n/a") || strings.EqualFold(cell, "nan") ||
		strings.EqualFold(cell, "null")
}

// isText says whether a cell holds a text.
func isText(cell string) bool {
	_, number := Number(cell)
	return !number && !isMissing(cell)
}

// parser walks over the lines of a file of numbers.
type parser struct {
	*Source
	lines *bufio.Scanner // of a file that is read as it comes
	text  []byte         // all of it, or the line
	pos   int            // in it, the next byte
	start int            // of the line
	line  int            // from 1
}

// mostLine is how many bytes a line may have that is read as it comes.
const mostLine = 1 << 30

func newParser(s *Source) parser {
	p := parser{Source: s, text: s.Text}
	if s.rest != nil {
		p.text, p.lines = nil, bufio.NewScanner(s.rest)
		p.lines.Buffer(make([]byte, 1<<16), mostLine)
	}
	return p
}

// nextLine goes to the next line that is neither blank nor a comment; io.EOF behind the last.
func (p *parser) nextLine() error {
	for {
		if n := bytes.IndexByte(p.text[p.pos:], '\n') + 1; p.line > 0 && n > 0 {
			p.pos += n
		} else if p.line > 0 {
			p.pos = len(p.text)
		}
		switch {
		case p.pos < len(p.text):
		case p.lines == nil:
			return io.EOF
		case p.lines.Scan():
			p.text, p.pos = p.lines.Bytes(), 0
		case p.lines.Err() != nil:
			return p.failed(p.lines.Err())
		default:
			return io.EOF
		}
		p.start = p.pos
		if p.line++; !p.atEnd() {
			return nil
		}
	}
}

// fail is an error at byte at: path:line:column: text.
func (p *parser) fail(at int, format string, args ...any) error {
	return fmt.Errorf("data: %s:%d:%d: %s", p.Path, p.line, at-p.start+1, fmt.Sprintf(format, args...))
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

// word is what stands at byte at, up to the next blank.
func (p *parser) word(at int) string {
	end := at
	for end < len(p.text) && p.text[end] > ' ' {
		end++
	}
	return string(p.text[at:end])
}

// MaxID is the largest id: one bit for each takes a quarter of a gigabyte.
const MaxID = 1<<31 - 1

// id reads a whole number.
func (p *parser) id() (uint32, error) {
	at, v := p.pos, uint64(0)
	for p.pos < len(p.text) && p.text[p.pos]-'0' <= 9 && v <= MaxID {
		v = v*10 + uint64(p.text[p.pos]-'0')
		p.pos++
	}
	if p.pos == at || v > MaxID || p.pos < len(p.text) && !separates(p.text[p.pos]) {
		return 0, p.fail(at, "%s: an id is a whole number from 0 to %s", human.Quote(p.word(at)), count(MaxID))
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
