package human

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
)

// WriteJSON writes v as JSON with each member of the object on a line of its own, and each
// element of a member that lists objects too: a case of an experiment, a worker of a run.
// What those hold stays on their line.
func WriteJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // people read it too: > instead of \u003e
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(lines(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
	return err
}

// lines lays out the JSON of an encoder without indentation.
func lines(text []byte) []byte {
	const most = 2 // containers inside each other that have a line for each element
	var b bytes.Buffer
	var broken [most + 1]bool // whether the one at this depth has
	depth, quoted := 0, false
	next := func() { // to the next line, or element
		if depth <= most && broken[depth] {
			b.WriteByte('\n')
			b.Write(bytes.Repeat([]byte("  "), depth))
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted:
			b.WriteByte(c)
			if c == '\\' {
				i++
				b.WriteByte(text[i])
			}
			quoted = c != '"'
		case c == '{' || c == '[':
			b.WriteByte(c)
			depth++
			if after := text[i+1]; depth <= most {
				broken[depth] = after != '}' && after != ']' && (depth == 1 || c == '[' && after == '{')
			}
			next()
		case c == '}' || c == ']':
			if depth--; depth < most && broken[depth+1] {
				b.WriteByte('\n')
				b.Write(bytes.Repeat([]byte("  "), depth))
			}
			b.WriteByte(c)
		case c == ',':
			b.WriteByte(c)
			if depth > most || !broken[depth] {
				b.WriteByte(' ')
			}
			next()
		case c == ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
			quoted = c == '"'
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// Number is a float64 whose JSON is null if it is not finite: JSON has no NaN and no infinities.
type Number float64

// NumberOf returns the number that p points to, NaN if there is none.
func NumberOf(p *float64) Number {
	if p == nil {
		return Number(math.NaN())
	}
	return Number(*p)
}

// MarshalJSON writes the number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !Finite(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number, or null as NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = Number(math.NaN())
	return json.Unmarshal(text, (*float64)(n)) // null leaves it as it is
}

// At is a Number in JSON that stands somewhere else as a float64.
type At struct{ P *float64 }

// MarshalJSON writes the number, or null.
func (a At) MarshalJSON() ([]byte, error) { return Number(*a.P).MarshalJSON() }

// UnmarshalJSON reads a number, or null as NaN.
func (a At) UnmarshalJSON(text []byte) error { return (*Number)(a.P).UnmarshalJSON(text) }

// OptionalAt is one that need not be there.
type OptionalAt struct{ P **float64 }

// IsZero reports whether there is none.
func (o OptionalAt) IsZero() bool { return *o.P == nil }

// MarshalJSON writes the number, or null.
func (o OptionalAt) MarshalJSON() ([]byte, error) { return At{*o.P}.MarshalJSON() }

// UnmarshalJSON reads a number, or null as NaN.
func (o OptionalAt) UnmarshalJSON(text []byte) error {
	*o.P = new(float64)
	return At{*o.P}.UnmarshalJSON(text)
}
