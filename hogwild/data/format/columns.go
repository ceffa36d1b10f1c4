package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// roles is which column of a table has which part of a triple: row, column, value.
type roles struct {
	at        [3]int   // -1: there is none, of values
	numbered  [2]bool  // most ids are numbers
	first     []string // the names of the columns, if it has them
	sizes     []int    // what a line above the entries tells, last how many they are: MatrixMarket's has three numbers
	symmetric bool     // the other half of the matrix is to be added
	skew      bool     // with the opposite sign
}

// find finds them by the first rows, and the marks of values by all.
func (p *triples) find() error {
	p.Target, p.at = p.o.Columns, [3]int{0, 1, 2}
	market := p.isMatrixMarket()
	if market {
		p.comma, p.tail, p.rowNames = runs, false, false
	}
	p.first = p.seeHead(true)
	if market {
		return p.matrixMarket()
	}
	width := len(p.columns)
	if len(p.first) == 0 {
		return nil // its reader says why
	}
	if _, is := p.columns[0].distinct["p"]; p.comma == runs && (is || p.first[0] == "p") {
		return p.Errorf("looks like DIMACS (a line begins with p): keep the lines of edges, without their letter")
	}
	err := p.findColumns(width)
	for k, j := range p.at[:2] {
		p.numbered[k] = j < width && p.columns[j].areNumbers()
	}
	if err != nil || p.o.Inputs {
		return err
	}
	p.findSizes()
	return p.findValues()
}

// findColumns finds the columns: as the user says, by names above them, or in their order.
func (p *triples) findColumns(width int) error {
	found, free := known(p.first)
	p.header = found[0] >= 0 && found[1] >= 0 || p.areNames()
	if asked := p.o.Columns; asked != "" {
		named, err := p.asked(asked, width)
		if err == nil {
			p.header = p.header || named
			return nil
		}
		if p.o.Like == nil || p.o.Like.Target != asked { // the training data's columns need not be here
			return p.Errorf("--columns %s: %v", asked, err)
		}
		p.Target = ""
	}
	if !p.header {
		if width < 3 {
			p.at[2] = -1
		}
		return nil
	}
	missing := 0
	for _, j := range found[:2] {
		if j == -1 {
			missing++
		}
	}
	value := found[2] >= 0
	enough := len(free) == missing || missing == 0 && (value || len(free) == 1 || p.o.Inputs)
	if slices.Contains(found[:], twice) || !enough {
		return p.Errorf("its columns are %s, and it is not clear which is the %s, which the %s and which the %s: say "+
			"it: %s", Some(p.first), p.called(0), p.called(1), p.called(2), p.flag())
	}
	for k, j := range found {
		if j < 0 && len(free) > 0 && (k < 2 || !value) {
			found[k], free = free[0], free[1:]
		}
	}
	p.at = found
	return nil
}

// areNames reports whether the first row is names: none of its cells is a number, but behind an empty one, and one
// stands above numbers alone.
func (p *triples) areNames() bool {
	above := false
	for j, name := range p.first {
		c := &p.columns[j]
		if _, number := Number(name); p.first[0] != "" && (number || markOf([]byte(name)) != noMark) {
			return false
		}
		above = above || c.numbers+c.marked() > 0 && c.texts == c.marked()
	}
	return above
}

// parts are the names that --columns has for the parts.
var parts = [3][]string{{"user", "source", "head"}, {"item", "target", "tail"}, {"value", "weight"}}

// called returns what messages call a part.
func (p *triples) called(part int) string {
	if p.o.Graph {
		return parts[part][1]
	}
	return parts[part][0]
}

// flag returns how the user may name the columns.
func (p *triples) flag() string {
	names := []string{"1", "2", "3"}
	if p.header {
		names = append(slices.DeleteFunc(slices.Clone(p.first), func(name string) bool { return name == "" }), names...)
	}
	return fmt.Sprintf("--columns %s", human.ShellWord(fmt.Sprintf("%s=%s,%s=%s,%s=%s", p.called(0), names[0],
		p.called(1), names[1], p.called(2), names[2])))
}

// asked sets the columns as the user names them, by name or number. Values may be left out.
func (p *triples) asked(columns string, width int) (named bool, err error) {
	asked, err := partsOf(columns)
	at := [3]int{-1, -1, -1}
	for _, of := range asked {
		part, name := of[0], of[1]
		k := slices.IndexFunc(parts[:], func(names []string) bool { return slices.Contains(names, part) })
		j := slices.Index(p.first, name)
		if part == "relation" {
			return false, errors.New("no model learns relations: leave relation= out, and all edges are of one kind")
		}
		if k < 0 {
			return false, fmt.Errorf("%s: want user=, item= and value=, or source=, target= and weight=",
				human.Quote(part))
		}
		named = named || j >= 0
		if n, failed := strconv.Atoi(name); j < 0 && failed == nil && n >= 1 && n <= width {
			j = n - 1
		}
		if j < 0 && (k < 2 || !p.o.Inputs) {
			return false, fmt.Errorf("no column %s; the first line has %s", human.Quote(name), Some(p.first))
		}
		at[k] = j
	}
	if err == nil && (at[0] < 0 || at[1] < 0 || at[0] == at[1] || at[0] == at[2] || at[1] == at[2]) {
		err = fmt.Errorf("name a column each for %s and %s", p.called(0), p.called(1))
	}
	if err == nil {
		p.at = at
	}
	return named, err
}

// begin makes a file begin with its first entry.
func (p *triples) begin() (*blocks, error) {
	q := p.cut()
	if p.header {
		if _, err := q.first(); err != nil && err != io.EOF {
			return nil, err
		}
	}
	return q, nil
}

// findValues finds out how the values are written, by all of them, unless the first ones and the letters of the file
// tell.
func (p *triples) findValues() (err error) {
	j, mark := p.at[2], byte(',')
	if p.comma == ',' {
		mark = '"' // a comma in a cell is in quotes
	}
	if j < 0 || j >= len(p.columns) || bytes.IndexByte(p.Text, mark) < 0 &&
		(p.columns[j].marks.n[decimalPoint] > 0 || bytes.IndexByte(p.Text, '.') < 0) {
		return nil
	}
	for i := range p.columns {
		p.columns[i] = column{full: [2]bool{true, true}}
	}
	q, err := p.begin()
	if err == nil {
		err = q.see()
	}
	if err != nil {
		return err
	}
	for i := range p.columns {
		c := &p.columns[i]
		if c.name = strconv.Itoa(i + 1); p.header && i < len(p.first) {
			c.name = p.first[i]
		}
		if points := c.marks.n[decimalPoint]; i != j { // no more is asked of the others
			c.marks = marks{}
			c.marks.n[decimalPoint] = points
		}
	}
	p.Notes = append(p.Notes, p.findMarks()...)
	return p.checkDoubts(func(i int) bool { return i == j })
}

// findSizes takes a first line for the numbers of nodes and edges, as rudy writes it, if no node has a larger number,
// and it has two numbers above three, or as many edges follow.
func (p *triples) findSizes() {
	sizes := wholes(p.first)
	if len(sizes) != 2 || p.header || !p.o.Graph {
		return
	}
	b, edges, weights := p.cut().take(len(p.Text)), 0, 0
	for b.next() == nil {
		for _, x := range b.row[:min(len(b.row), 2)] {
			if id, ok := plainID(x.text); edges > 0 && (!ok || int(id) > sizes[0]) {
				return
			}
		}
		edges++
		if len(b.row) > 2 {
			weights++
		}
	}
	if edges--; edges > 0 && weights == edges || weights == 0 && edges == sizes[1] {
		p.header, p.sizes = true, sizes
		p.notef("the first line, %s, is taken for the numbers of nodes and edges", strings.Join(p.first, " "))
		p.first = nil
	}
}

// matrixMarket reads the banner, and the sizes behind the comments.
func (p *triples) matrixMarket() error {
	line, _, _ := bytes.Cut(p.Text, []byte("\n"))
	is := strings.Fields(strings.ToLower(string(line)))
	if len(is) != 5 || is[1] != "matrix" || is[2] != "coordinate" || is[3] == "complex" || is[4] == "hermitian" {
		return p.Errorf("%s: want a matrix of coordinates with real, integer or pattern entries (scipy.io.mmwrite "+
			"writes one of scipy.sparse.coo_matrix)", human.Quote(strings.TrimSpace(string(line))))
	}
	if p.sizes = wholes(p.first); len(p.sizes) != 3 {
		return p.Errorf("%s: want the line of sizes: rows, columns, entries",
			human.Quote(strings.Join(p.first, " ")))
	}
	p.header, p.skew = true, is[4] == "skew-symmetric"
	p.symmetric = is[4] != "general" && !p.o.Graph && !p.o.Inputs
	if is[3] == "pattern" {
		p.at[2] = -1
	}
	return nil
}

// wholes returns cells as whole numbers; nil if one is none.
func wholes(cells []string) (all []int) {
	for _, text := range cells {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil
		}
		all = append(all, n)
	}
	return all
}
