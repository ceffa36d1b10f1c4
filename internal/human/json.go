package human

import (
	"bytes"
	"encoding/json"
	"io"
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
