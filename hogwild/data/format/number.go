package format

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// powersOfTen are those that float64 holds.
var powersOfTen = [32]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var tens = [...]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// zeros are digits 0.
const zeros = 0x3030303030303030

// plainCells appends cells to a row, from byte at on, up to one that is not a sign and up to 7 digits, perhaps a point
// and digits, 20 bytes in all, perhaps an exponent, or to the end of the line. It returns what is behind them. No
// branch depends on the lengths of numbers below 16 bytes, as a processor would guess them wrong: all digits are read
// at once.
func plainCells(row []cell, text []byte, at int, comma byte) (cells []cell, behind int) {
	for at+24 < len(text) {
		x := binary.LittleEndian.Uint64(text[at:]) ^ zeros // the first byte is the lowest; 0 to 9 are digits
		y := binary.LittleEndian.Uint64(text[at+8:]) ^ zeros
		negative := ((x&0xff ^ '-' ^ '0') - 1) >> 63
		x &^= 0xff & -negative // a minus is one more digit, 0
		ends := notDigits(x)
		point := bits.TrailingZeros64(ends) / 8
		n, decimals, digits := point, 0, uint64(0)
		if x>>(8*point&63)&0xff != '.'^'0' {
			digits = eight(x << (64 - 8*point&63))
		} else {
			ends &= ends - 1
			n = bits.TrailingZeros64(ends) / 8
			n += bits.TrailingZeros64(notDigits(y)) / 8 & -(n / 8)
			before := uint64(1)<<(8*point&63) - 1
			x = x&before | (x>>8|y<<56)&^before
			if n < 16 {
				eights := n - 1 - 8
				less := eights >> 63                          // all bits if there are not eight digits
				first, more := -8*(eights&less), eights&^less // the bits they go up; the digits behind them
				digits = eight(x<<(first&63))*tens[more&7] + eight(y>>8<<((56-8*more)&63)<<8)
			} else {
				z := binary.LittleEndian.Uint64(text[at+16:]) ^ zeros
				n += bits.TrailingZeros64(notDigits(z)) / 8
				digits = (eight(x)*1e8+eight(y>>8|z<<56))*tens[(n-17)&3] + eight(z>>8<<((56-8*(n-17))&63)<<8)
			}
			decimals = n - point - 1
		}
		end := at + n
		c := text[end]
		if point == 8 || n == 16 || n > 20 || point+decimals == int(negative) {
			break
		}
		v := float64(int64(digits)) / powersOfTen[decimals&31]
		if digits > 1<<53 {
			v = quotient(digits, decimals)
		}
		if c != comma && c != '\n' {
			e, more := exponent(text[end:])
			end += more
			ok := false
			if v, ok = number(digits, decimals-e); !ok || end == len(text) || text[end] != comma && text[end] != '\n' {
				break
			}
			c = text[end]
		}
		v = math.Float64frombits(math.Float64bits(v) | negative<<63)
		row = append(row, cell{text[at:end], v, true, false})
		if at = end + 1; c == '\n' {
			break
		}
	}
	return row, at
}

// notDigits has the top bit of each byte set that is not 0 to 9.
func notDigits(x uint64) uint64 {
	return ((x&0x7f7f7f7f7f7f7f7f + 0x7676767676767676) | x) & 0x8080808080808080
}

// eight returns the number of eight digits, the first in the lowest byte.
func eight(x uint64) uint64 {
	const mask = 0x000000ff000000ff
	x = x*10 + x>>8
	return (x&mask*(100+1000000<<32) + x>>16&mask*(1+10000<<32)) >> 32
}

// parseNumber reads a decimal number, n bytes long, at the start of b. One of more than 19 digits, or see number, is
// not ok, and left to strconv.
func parseNumber(b []byte) (v float64, n int, ok bool) {
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
	if length < 1 || length > 19 {
		return 0, n, false
	}
	e, more := exponent(b[n:])
	if v, ok = number(digits, decimals-e); negative {
		v = -v
	}
	return v, n + more, ok
}

// exponent reads an exponent, n bytes long, at the start of b; n is 0 if there is none.
func exponent(b []byte) (e, n int) {
	if len(b) < 2 || b[0]|0x20 != 'e' {
		return 0, 0
	}
	from := 1
	if b[1] == '-' || b[1] == '+' {
		from = 2
	}
	for n = from; n < len(b) && n < from+4 && b[n]-'0' <= 9; n++ {
		e = 10*e + int(b[n]-'0')
	}
	if n == from {
		return 0, 0
	}
	if b[1] == '-' {
		e = -e
	}
	return e, n
}

// number returns the float64 nearest to a whole number divided by a power of ten: by one operation if both are exact
// (Clinger 1990), else by quotient. It is not ok for powers that are far from 1.
func number(digits uint64, decimals int) (v float64, ok bool) {
	switch exact := digits <= 1<<53; {
	case exact && 0 <= decimals && decimals <= 22:
		return float64(int64(digits)) / powersOfTen[decimals], true
	case exact && -22 <= decimals && decimals < 0:
		return float64(int64(digits)) * powersOfTen[-decimals], true
	case 0 <= decimals && decimals < len(powersOfFive):
		return quotient(digits, decimals), true
	}
	return 0, false
}

// powersOfFive are those that uint64 holds.
var powersOfFive = func() (powers [28]uint64) {
	for k, v := 0, uint64(1); k < len(powers); k, v = k+1, 5*v {
		powers[k] = v
	}
	return powers
}()

// quotient returns the float64 nearest to a number divided by 10^decimals: 63 or 64 bits of it, the last one set if
// there are more, are rounded once.
func quotient(a uint64, decimals int) float64 {
	b := powersOfFive[decimals]
	up, down := bits.LeadingZeros64(a), bits.LeadingZeros64(b)
	q, rest := bits.Div64(a<<up>>1, a<<up<<63, b<<down)
	if rest > 0 {
		q |= 1
	}
	return float64(q) * math.Float64frombits(uint64(1023-63+down-up-decimals)<<52)
}

// Number is the number in a cell; it may be too large for a float32, or infinite.
func Number[T string | []byte](cell T) (float64, bool) {
	if v, n, ok := parseNumber([]byte(cell)); ok && n == len(cell) {
		return v, true
	}
	if len(cell) == 0 || cell[0] > '9' && cell[0]|0x20 != 'i' {
		return 0, false // spares the error that ParseFloat would make of a text
	}
	v, err := parseFloat(string(cell))
	return v, err == nil || v != 0 // out of range is a number still
}

// parseFloat calls strconv's, but refuses what no other program takes for a number: 3_0, 0x1p4.
func parseFloat(text string) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

// cell is a cell of a row, trimmed.
type cell struct {
	text   []byte
	v      float64 // the number in it
	plain  bool    // if it is one that parseNumber reads
	quoted bool
}

// isMissing says whether a cell stands for a value that is not known: it is empty, ?, NA,
// N/A, NaN or null.
func isMissing[T string | []byte](cell T) bool {
	switch {
	case len(cell) == 0:
		return true
	case len(cell) == 1:
		return cell[0] == '?'
	case len(cell) > 4 || cell[0]|0x20 != 'n': // of no word below
		return false
	}
	is := func(word string) bool { return strings.EqualFold(string(cell), word) }
	return is("na") || is("n/a") || is("nan") || is("null")
}

// nullWords stand for missing values in columns of numbers: from pandas, without isMissing's, and from MySQL and Hive.
var nullWords = map[string]bool{"#N/A": true, "#N/A N/A": true, "#NA": true, "-1.#IND": true, "-1.#QNAN": true,
	"-NaN": true, "-nan": true, "1.#IND": true, "1.#QNAN": true, "<NA>": true, "None": true, `\N`: true}

func isNullWord[T string | []byte](cell T) bool {
	return len(cell) > 1 && len(cell) < 10 && strings.IndexByte(`#-1<N\`, cell[0]) >= 0 && nullWords[string(cell)]
}

// isText says whether a cell holds a text.
func isText(cell string) bool {
	_, number := Number(cell)
	return !number && !isMissing(cell) && !isNullWord(cell)
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
		if p.lines == nil {
			p.letGo(p.pos)
		}
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

// fail returns an error at byte at: path:line:column: text.
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

// word returns the text at byte at, up to the next blank.
func (p *parser) word(at int) string {
	end := at
	for end < len(p.text) && p.text[end] > ' ' {
		end++
	}
	return string(p.text[at:end])
}

// plainID reads a whole number as it is mostly written: without zeros in front.
func plainID(cell []byte) (id uint32, ok bool) {
	if len(cell) == 0 || len(cell) > 10 || cell[0] == '0' && len(cell) > 1 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range cell {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return uint32(v), v <= MaxID
}

// PaddedID reads a whole number that may have zeros in front.
func PaddedID[T string | []byte](text T) (id uint32, ok bool) {
	b := bytes.TrimLeft([]byte(text), "0")
	if len(b) == 0 && len(text) > 0 {
		return 0, true
	}
	return plainID(b)
}

// MaxID is the largest id: one bit for each takes a quarter of a gigabyte.
const MaxID = 1<<31 - 1
