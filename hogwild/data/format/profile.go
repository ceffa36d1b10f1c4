package format

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// profile reads all cells once to learn what the columns are. Quotes that are wrong between tabs are letters.
func (t *table) profile() error {
	if t.blanks {
		return t.Errorf("blanks are between the cells: separate columns by commas, semicolons, tabs or |: " +
			"tr -s ' ' '\\t' <OLD >NEW")
	}
	err := t.readAll()
	if t.comma == '\t' && (errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote)) {
		t.letters = true
		err = t.readAll()
	}
	return err
}

func (t *table) readAll() error {
	t.Budget.Give(t.kept)
	t.kept = 0
	q := t.cut()
	b, err := q.first()
	if err == io.EOF {
		return t.Errorf("no rows in the file (read as csv)")
	}
	if err != nil {
		return err
	}
	first, line := b.texts(), b.at
	t.columns = make([]column, len(first))
	if err := t.keep(int64(len(first))*columnBytes, count(len(first))+" columns"); err != nil {
		return err
	}
	t.Rows = 1
	if err := q.see(); err != nil {
		return err
	}
	t.header = t.isHeader(first)
	t.nameColumns(first)
	if t.header && t.Rows == 1 && len(t.problems) > 0 { // none of the rows is like the first line
		return errors.New("data: " + strings.TrimPrefix(t.problems[0], "problem: "))
	}
	if t.header && t.Rows == 1 {
		return t.Errorf("a header (%s) and no rows", Some(t.names()))
	}
	if !t.header {
		head := make([]column, len(first))
		for j, text := range first {
			head[j].see(line, &cell{text: []byte(text)})
		}
		err = t.join(head)
	}
	names := t.names()
	for j := range t.columns {
		c := &t.columns[j]
		if c.dates.fit == [3]int{} {
			c.settleNulls()
			continue
		}
		taken := slices.ContainsFunc(dateParts,
			func(part string) bool { return slices.Contains(names, c.name+"."+part) })
		if c.numbers == 0 && !taken {
			c.order = c.dates.order(c.texts, c.text)
		}
		c.settleNulls()
	}
	return err
}

// see looks at all cells, and counts the rows.
func (q *blocks) see() error {
	q.begin = func(b *block) {
		b.columns = resized(b.columns, len(q.columns))
		for j := range b.columns {
			b.columns[j].full = q.columns[j].full // what it would find there would not count
		}
	}
	q.row = func(b *block) error {
		for j := range min(len(b.row), len(b.columns)) {
			b.columns[j].see(b.at, &b.row[j])
		}
		return nil
	}
	for b := q.next(); b != nil; b = q.next() {
		q.Rows += b.rows
		if err := cmp.Or(b.err, q.join(b.columns)); err != nil {
			return err
		}
	}
	return nil
}

// countsColumns says whether the cells of a first line are 0, 1, 2 and so on: what pandas writes above columns
// without names, perhaps after an empty cell above the numbers of the rows.
func countsColumns(first []string) bool {
	if first[0] == "" {
		first = first[1:]
	}
	for j, cell := range first {
		if cell != strconv.Itoa(j) {
			return false
		}
	}
	return len(first) >= 4 // fewer may well be values
}

// nameColumns gives each column its name in the header, or its number. Of columns with the
// same name the second is called NAME.2, or by the next number that no column is called by.
func (t *table) nameColumns(header []string) {
	given, wanted := make([]string, len(t.columns)), map[string]bool{}
	for j := range given {
		given[j] = strconv.Itoa(j + 1)
		if t.header && header[j] != "" {
			given[j] = header[j]
			wanted[given[j]] = true
		}
	}
	taken, last := map[string]bool{}, map[string]int{}
	for j, name := range given {
		unnamed := t.header && header[j] == ""
		for taken[name] || (unnamed || name != given[j]) && wanted[name] {
			last[given[j]]++
			name = given[j] + "." + strconv.Itoa(1+last[given[j]])
		}
		taken[name] = true
		t.columns[j].name, t.columns[j].unnamed = name, unnamed
	}
}

// join adds what was found in later rows.
func (t *table) join(columns []column) error {
	kept := int64(0)
	for j := range columns {
		kept += t.columns[j].join(&columns[j])
	}
	if kept == 0 {
		return nil
	}
	return t.keep(kept, fmt.Sprintf("the texts of %s columns", count(len(columns))))
}

// keep counts the memory of what the columns hold.
func (t *table) keep(bytes int64, what string) error {
	t.kept += bytes
	return t.Budget.Take(t.Path, bytes, what)
}

// isHeader judges the first line by the columns under it.
func (t *table) isHeader(first []string) bool {
	if countsColumns(first) {
		return true
	}
	onlyTexts := true
	for j, cell := range first {
		c := &t.columns[j]
		isText := isText(cell) && markOf([]byte(cell)) == noMark
		if isText && (c.areNumbers() || cell == t.o.Target) {
			return true
		}
		_, again := c.distinct[cell]
		onlyTexts = onlyTexts && isText && c.numbers <= c.texts/10 && !again // a film may be called 300
	}
	return onlyTexts
}

// LooksLikeText reports whether the file begins with words: with fewer numbers than a table has.
func (s *Source) LooksLikeText() bool {
	head := s.Text[:min(len(s.Text), 1<<16)]
	words, numbers := bytes.FieldsFunc(head, func(c rune) bool { return strings.ContainsRune(" \t\r\n,;|:", c) }), 0
	for _, w := range words {
		if _, is := Number(string(w)); is {
			numbers++
		}
	}
	return notText(head) == "" && len(words) > 0 && 4*numbers < len(words)
}
