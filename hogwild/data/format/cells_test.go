package format

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// byPackage returns what encoding/csv reads: a text for each row, and one for the error behind them.
func byPackage(text string, comma byte) (rows []string) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = rune(comma)
	for {
		row, err := r.Read()
		at := (*csv.ParseError)(nil)
		switch {
		case errors.Is(err, csv.ErrFieldCount) && errors.As(err, &at):
			return append(rows, fmt.Sprintf("data: x:%d: %d cell", at.Line, len(row)))
		case errors.As(err, &at):
			return append(rows, fmt.Sprintf("data: x:%d:%d: %v", at.Line, at.Column, at.Err))
		case err != nil:
			return rows
		}
		line, _ := r.FieldPos(0)
		for j := range row {
			if !utf8.ValidString(row[j]) {
				return append(rows, fmt.Sprintf("data: x:%d: ", line))
			}
			row[j] = strings.TrimSpace(row[j])
		}
		rows = append(rows, fmt.Sprintf("%d %q", line, row))
	}
}

// inBlocks returns what cells reads, in blocks of at least that many bytes, or as the text comes.
func inBlocks(text string, comma byte, size int, comes bool) (rows []string) {
	t := &table{Source: &Source{Path: "x", Text: []byte(text)}, layout: layout{comma: comma}}
	if comes {
		t.rest = bufio.NewReaderSize(strings.NewReader(text), 16)
	}
	q := t.cut()
	b, err := q.first()
	for b != nil {
		for ; err == nil; err = b.next() {
			rows = append(rows, fmt.Sprintf("%d %q", b.at, b.texts()))
		}
		if err != io.EOF {
			return append(rows, err.Error())
		}
		if b = q.take(size); b != nil {
			err = b.next()
		}
	}
	return rows
}

// FuzzCells: rows are encoding/csv's, with the same lines and errors, however a table is cut.
func FuzzCells(f *testing.F) {
	for _, text := range []string{"", "a,b\n1,2\n", "a;\"b\"\"c\";d\r\n\r\n-1.5;;x", "a,b\n1\n", "a,b\n1,c\"d\n",
		"\"a\nb\r\nc\",d\n\n1,2\n\"3\"x,4\n", "a|b\n\"1|2", "\xff,b\n", "a,b\r", "\"a\"\r", "\"a\"\rb\n",
		" 1 ,\u00a02\t\n\r\r\n\r", ",\n,", "a,\"\"\n",
		"12345678901234567.5,-.25,1e5\n-,+,.\n-0,00,5.\n1.2.3,4 5,--6\n1234567,12345678,0.1234567890123\n",
		"x,y\n\"1\n\"\"2\",3\n4,5\n6,\"7\n8\n9,10\n"} {
		f.Add(text, byte(len(text)))
	}
	f.Fuzz(func(t *testing.T, text string, kind byte) { sameCells(t, text, ",;\t|"[kind%4]) })
}

// TestCells tries texts of what matters to a table.
func TestCells(t *testing.T) {
	letters := rapid.SliceOf(rapid.SampledFrom([]string{",", ",", "\n", "\n", "\r\n", "\r", "\"", "\"\"", " ", "1",
		"-2.5", "x", "\u00a0", "\n\"", "\",", "\",\"", "1234567", ".", "7.25,-1.5,3.125,8,9"}))
	rapid.Check(t, func(t *rapid.T) { sameCells(t, strings.Join(letters.Draw(t, "text"), ""), ',') })
}

func sameCells(t interface{ Fatalf(string, ...any) }, text string, comma byte) {
	want := byPackage(text, comma)
	for _, size := range []int{1, 20, 1 << 20, -1} {
		got := inBlocks(text, comma, max(size, 1), size < 0)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
				t.Fatalf("%q in blocks of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}
