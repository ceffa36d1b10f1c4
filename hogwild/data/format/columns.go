package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// roles is where a line of triples has which part: row, column, value.
type roles struct {
	sep       string // between cells; " " is any run of blanks
	at        [3]int // the cell of each part; -1: there is none, of values
	last      int    // the last of them
	header    bool   // the first line is names, or, of MatrixMarket, sizes
	commas    bool   // values have decimal commas
	graph     bool
	columns   string   // as the user names them
	names     []string // of the columns
	sizes     []int    // MatrixMarket: rows, columns, entries
	symmetric bool     // the other half of the matrix is to be added
	skew      bool     // with the opposite sign
}

// separators are what may stand between cells, the likeliest first.
var separators = []string{"\t", ";", "|", ",", "::", " ", ":"}

// sampled is how many lines are looked at to find out what a file is.
const sampled = 101

// lines are the first lines that are no comment, at most so many.
func (s *Source) lines(most int) (lines [][]byte) {
	for line := range bytes.Lines(s.Text) {
		whole, text := line[len(line)-1] == '\n', bytes.TrimSpace(line)
		switch {
		case len(text) == 0 || text[0] == '#' || text[0] == '%' && len(lines) == 0:
			continue
		case len(lines) == most || !whole && s.rest != nil && len(lines) > 0: // the rest of it has not come
			return lines
		}
		lines = append(lines, bytes.TrimRight(line, "\r\n"))
	}
	return lines
}

// find finds them by the first lines.
func (l *roles) find(s *Source, o Options) error {
	l.graph, l.columns, l.sep, l.at = o.Graph, o.Columns, " ", [3]int{0, 1, 2}
	if s.isMatrixMarket() {
		return l.matrixMarket(s, o)
	}
	lines := s.lines(sampled)
	l.sep = separatorOf(lines[min(1, max(0, len(lines)-1)):])
	var rows [][][]byte
	width := 0
	for i, line := range lines {
		cells, _ := l.split(line, nil, math.MaxInt)
		rows = append(rows, cells)
		if i > 0 || len(lines) == 1 {
			width = max(width, len(cells))
		}
	}
	if len(rows) > 0 {
		l.names = texts(rows[0])
		if at := len(rows[0]); at == width-1 && len(rows[1]) == width && len(rows[1][at]) > 0 {
			l.names = append([]string{""}, l.names...) // R gives the names of rows none
		}
	}
	if slices.ContainsFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte("p ")) }) {
		return s.Errorf("looks like DIMACS (a line begins with p): keep the lines of edges, without their letter")
	}
	if err := l.columnsOf(s, o, rows, width); err != nil {
		return err
	}
	l.last = max(l.at[0], l.at[1], l.at[2])
	for _, cells := range rows[min(len(rows), 1):] {
		if j := l.at[2]; j >= 0 && j < len(cells) {
			l.commas = l.commas || isDecimal(cells[j])
		}
	}
	return nil
}

// columnsOf finds the columns: as the user says, by names above them, or in their order.
func (l *roles) columnsOf(s *Source, o Options, rows [][][]byte, width int) error {
	found, free := l.known()
	l.header = found[0] >= 0 && found[1] >= 0 || len(rows) > 1 && areNames(rows)
	if o.Columns != "" {
		named, err := l.asked(o, width)
		if err == nil {
			l.header = l.header || named
			return nil
		}
		if o.Like == nil || o.Like.Target != o.Columns { // those of the training data need not be here
			return s.Errorf("--columns %s: %v", o.Columns, err)
		}
		l.columns = ""
	}
	if !l.header {
		if max(width, len(l.names)) < 3 {
			l.at[2] = -1
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
	enough := len(free) == missing || missing == 0 && (value || len(free) == 1 || o.Inputs)
	if slices.Contains(found[:], twice) || !enough {
		return s.Errorf("its columns are %s, and it is not clear which is the %s, which the %s and which the %s: say "+
			"it: %s", Some(l.names), l.called(0), l.called(1), l.called(2), l.flag())
	}
	for k, j := range found {
		if j < 0 && len(free) > 0 && (k < 2 || !value) {
			found[k], free = free[0], free[1:]
		}
	}
	l.at = found
	return nil
}

// twice is the place of a part that several columns seem to be.
const twice = -2

// partNames are the names of columns of each part, without marks and in small letters; the last are of none.
var partNames = [...]string{
	" user userid uid customer customerid reviewer reviewerid member memberid account accountid source sourceid src " +
		"from fromid fromnode fromnodeid node1 follower sender citing head parent row rowid ",
	" item itemid iid movie movieid film filmid artist artistid book bookid isbn product productid asin game gameid " +
		"song songid track trackid anime animeid business businessid article articleid target targetid tgt dst dest " +
		"destination to toid tonode tonodeid node2 followee receiver cited tail child column columnid ",
	" rating ratings score value weight stars overall bookrating count plays playcount capacity cost prediction ",
	" timestamp time date datetime ts unixtime unixreviewtime index unnamed0  ",
}

// plainName is the name of a column without marks and in small letters.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.:", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// known are the columns whose names say what they are, and those that may be anything.
func (l *roles) known() (found [3]int, free []int) {
	found = [3]int{-1, -1, -1}
	for j, name := range l.names {
		of := slices.IndexFunc(partNames[:], func(names string) bool {
			return strings.Contains(names, " "+plainName(name)+" ")
		})
		switch {
		case of < 0:
			free = append(free, j)
		case of == len(found):
		case found[of] != -1:
			found[of] = twice
		default:
			found[of] = j
		}
	}
	return found, free
}

// areNames reports whether the first row is names: none of its cells is a number, but behind an empty one, and one
// stands above numbers alone.
func areNames(rows [][][]byte) bool {
	above := false
	for j, cell := range rows[0] {
		if _, number := Number(cell); number && len(rows[0][0]) > 0 {
			return false
		}
		at := j + max(0, len(rows[1])-len(rows[0]))
		above = above || !slices.ContainsFunc(rows[1:], func(cells [][]byte) bool {
			if at >= len(cells) {
				return true
			}
			_, number := Number(withPoint(cells[at]))
			return !number
		})
	}
	return above
}

// parts are the names that --columns has for the parts.
var parts = [3][2]string{{"user", "source"}, {"item", "target"}, {"value", "weight"}}

// called is what messages call a part.
func (l *roles) called(part int) string {
	if l.graph {
		return parts[part][1]
	}
	return parts[part][0]
}

// flag is how the user may name the columns.
func (l *roles) flag() string {
	names := []string{"1", "2", "3"}
	if l.header {
		names = append(slices.DeleteFunc(slices.Clone(l.names), func(name string) bool { return name == "" }), names...)
	}
	return fmt.Sprintf("--columns %s", human.ShellWord(fmt.Sprintf("%s=%s,%s=%s,%s=%s", l.called(0), names[0],
		l.called(1), names[1], l.called(2), names[2])))
}

// asked sets the columns as the user names them, by name or number. Values may be left out.
func (l *roles) asked(o Options, width int) (named bool, err error) {
	r := csv.NewReader(strings.NewReader(o.Columns))
	r.LazyQuotes = true
	cells, err := r.Read()
	at := [3]int{-1, -1, -1}
	for _, cell := range cells {
		part, name, _ := strings.Cut(cell, "=")
		k := slices.IndexFunc(parts[:], func(names [2]string) bool { return slices.Contains(names[:], part) })
		j := slices.Index(l.names, name)
		if k < 0 {
			return false, fmt.Errorf("%s: want user=, item= and value=, or source=, target= and weight=",
				human.Quote(part))
		}
		named = named || j >= 0
		if n, failed := strconv.Atoi(name); j < 0 && failed == nil && n >= 1 && n <= width {
			j = n - 1
		}
		if j < 0 && (k < 2 || !o.Inputs) {
			return false, fmt.Errorf("no column %s; the first line has %s", human.Quote(name), Some(l.names))
		}
		at[k] = j
	}
	if err == nil && (at[0] < 0 || at[1] < 0 || at[0] == at[1] || at[0] == at[2] || at[1] == at[2]) {
		err = fmt.Errorf("name a column each for %s and %s", l.called(0), l.called(1))
	}
	if err == nil {
		l.at = at
	}
	return named, err
}

// separatorOf is what stands between the cells of lines: it makes two cells or more of each, if possible as many of
// each, and rather three.
func separatorOf(lines [][]byte) string {
	best, most := " ", 0
	for _, sep := range separators {
		l, fewest, largest := roles{sep: sep}, math.MaxInt, 0
		for _, line := range lines {
			if cells, err := l.split(line, nil, math.MaxInt); err == nil { // else it is told when it is read
				fewest, largest = min(fewest, len(cells)), max(largest, len(cells))
			}
		}
		score := 0
		if fewest >= 2 && largest > 0 {
			score = 1
			if fewest == largest {
				score += min(fewest, 3) - 1
			}
		}
		if score > most {
			best, most = sep, score
		}
	}
	return best
}

// split appends the cells of a line, at most so many.
func (l *roles) split(line []byte, cells [][]byte, most int) ([][]byte, error) {
	for more := true; more && len(cells) < most; {
		plain := 0 // bytes of a number
		for plain < len(line) && (line[plain]-'0' <= 9 || line[plain] == '.') {
			plain++
		}
		if more = plain < len(line); plain > 0 && (!more || line[plain] == l.sep[0] && len(l.sep) == 1) {
			cells, line = append(cells, line[:plain]), line[min(plain+1, len(line)):]
			continue
		}
		cell := bytes.TrimLeft(line, " ")
		if l.sep == " " {
			if cell = bytes.TrimLeft(line, " \t\r"); len(cell) == 0 || cell[0] == '#' {
				break
			}
		}
		end, quoted := 0, len(cell) > 0 && cell[0] == '"'
		if quoted {
			for end = 1; ; end += 2 {
				n := bytes.IndexByte(cell[end:], '"')
				if n < 0 {
					return cells, errors.New("a quote is never closed: quote a cell as a whole, on one line")
				}
				if end += n; end+1 == len(cell) || cell[end+1] != '"' {
					break
				}
			}
			end++
		}
		n := bytes.Index(cell[end:], []byte(l.sep))
		if l.sep == " " {
			n = bytes.IndexAny(cell[end:], " \t")
		}
		if more = n >= 0; more {
			line, cell = cell[end+n+len(l.sep):], cell[:end+n]
		}
		cell = bytes.TrimSpace(cell)
		if quoted {
			if len(cell) != end {
				return cells, errors.New("letters behind a quoted cell: quote a cell as a whole, and double the " +
					"quotes inside it")
			}
			if cell = cell[1 : end-1]; bytes.IndexByte(cell, '"') >= 0 {
				cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
			}
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// isDecimal reports whether a number has a comma that can be of decimals alone.
func isDecimal(cell []byte) bool {
	whole, decimals, ok := bytes.Cut(bytes.TrimLeft(cell, "+-"), []byte(","))
	behind := bytes.TrimLeft(decimals, "0123456789")
	return ok && len(decimals) > len(behind) && (len(behind) == 0 || behind[0]|0x20 == 'e') &&
		(len(decimals) != 3 || len(whole) == 0 || len(whole) > 3 || whole[0] == '0')
}

// texts are copies of cells.
func texts(cells [][]byte) (texts []string) {
	for _, cell := range cells {
		texts = append(texts, string(cell))
	}
	return texts
}

// isMatrixMarket reports whether the file begins with the banner of that format.
func (s *Source) isMatrixMarket() bool {
	const banner = "%%MatrixMarket"
	return bytes.EqualFold(s.Text[:min(len(s.Text), len(banner))], []byte(banner))
}

// matrixMarket reads the banner, and the sizes behind the comments.
func (l *roles) matrixMarket(s *Source, o Options) error {
	line, _, _ := bytes.Cut(s.Text, []byte("\n"))
	is := strings.Fields(strings.ToLower(string(line)))
	if len(is) != 5 || is[1] != "matrix" || is[2] != "coordinate" || is[3] == "complex" || is[4] == "hermitian" {
		return s.Errorf("%s: want a matrix of coordinates with real, integer or pattern entries (scipy.io.mmwrite "+
			"writes one of scipy.sparse.coo_matrix)", human.Quote(strings.TrimSpace(string(line))))
	}
	lines := s.lines(1)
	for i := 0; len(lines) > 0 && i < 3; i++ {
		fields := append(strings.Fields(string(lines[0])), "", "", "")
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 || fields[3] != "" {
			return s.Errorf("%s: want the line of sizes: rows, columns, entries", human.Quote(string(lines[0])))
		}
		l.sizes = append(l.sizes, n)
	}
	l.header, l.skew = true, is[4] == "skew-symmetric"
	l.symmetric = is[4] != "general" && !o.Graph && !o.Inputs
	if l.last = 2; is[3] == "pattern" {
		l.at[2], l.last = -1, 1
	}
	return nil
}

// withPoint is a number with a decimal comma, 1.234,5, as Go reads it; other cells are as they
// were.
func withPoint(cell []byte) []byte {
	whole, decimals, ok := bytes.Cut(cell, []byte(","))
	if !ok || len(bytes.Trim(decimals, "0123456789")) > 0 || len(bytes.Trim(whole, "+-.0123456789")) > 0 {
		return cell
	}
	return slices.Concat(bytes.ReplaceAll(whole, []byte("."), nil), []byte("."), decimals)
}
