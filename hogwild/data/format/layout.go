package format

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
)

// sampleRows is how many rows tell the layout.
const sampleRows = 100

func newTable(s *Source, o Options) *table {
	t := &table{Source: s, o: o}
	t.Format, t.Kind = "csv", Floats
	t.findLayout()
	return t
}

// excel is the line by which a table tells Excel its separator.
var excel = regexp.MustCompile(`^"?(?i:sep)=([^\r\n])"?\r?\n`)

// separators are what may stand between cells; all but the first four between cells of triples alone.
var separators = []byte{'\t', ',', ';', '|', colons, runs, ':'}

// findLayout takes the separator that cuts the first rows into the same number of cells, of several the one by which
// more cells are numbers and fewer hold what looks like another separator, and finds what is no cell.
func (t *table) findLayout() {
	head := t.Text[:min(len(t.Text), 1<<20)]
	if n := bytes.LastIndexByte(head, '\n'); n >= 0 && (t.rest != nil || len(head) < len(t.Text)) {
		head = head[:n+1]
	}
	if t.comma = ','; t.layout.excel(head) {
		head = head[LineEnd(head, 0):]
	} else {
		rows := head
		for n := t.leading(head); n > 0 || bytes.HasPrefix(rows, []byte("#")) && LineEnd(rows, 0) < len(rows); n-- {
			rows = rows[LineEnd(rows, 0):]
		}
		best, tabs := math.Inf(-1), false
		of := separators
		if !t.o.Triples {
			of = of[:4]
		}
		for _, comma := range of {
			is := layout{comma: comma}
			score, broken, even := t.sample(rows, is)
			if broken && comma == '\t' {
				is.letters = true
				score, _, even = t.sample(rows, is)
			}
			tabs = tabs || even && comma == '\t'
			if score > best && (comma != runs || !tabs || score == 1) { // names have blanks in them, but no tabs
				best, t.layout = score, is
			}
		}
		blanks, _, _ := t.sample(rows, layout{comma: ' '})
		t.blanks = math.IsInf(best, -1) && blanks > 0
	}
	comments := t.leading(head)
	for range comments {
		head = head[LineEnd(head, 0):]
	}
	t.skipped += comments
	t.findExtra(head)
	if t.head = head; t.rest != nil {
		t.head = bytes.Clone(head)
	}
}

// excel takes the separator that a first line tells.
func (l *layout) excel(head []byte) bool {
	m := excel.FindSubmatch(head)
	if m != nil {
		l.comma, l.skipped = m[1][0], 1
	}
	return m != nil
}

// each calls do with the first rows; it says whether one has wrong quotes.
func (c *cells) each(do func(row []cell)) (broken bool) {
	for n := 0; n < sampleRows && c.pos < c.end; n++ {
		if from := c.pos; c.pass() {
			n--
		} else if !c.split() {
			broken, c.pos = true, LineEnd(c.text[:c.end], from)
			do(nil)
		} else if len(c.row) > 1 || len(c.row[0].text) > 0 {
			do(c.row)
		}
	}
	return broken
}

// sample judges a separator by the first rows; it says whether quotes are wrong, and whether rows have as many cells.
func (t *table) sample(head []byte, is layout) (score float64, broken, even bool) {
	c, comma := cells{table: &table{Source: t.Source, o: t.o, layout: is}, text: head, end: len(head)}, is.comma
	widths, rows, first, all, numbers, foreign := map[int]int{}, 0, 0, 0, 0, 0
	broken = c.each(func(row []cell) {
		if rows++; rows == 1 {
			first = len(row)
		} else {
			widths[len(row)]++
		}
		all += len(row)
		for _, x := range row {
			text := bytes.TrimSpace(x.text)
			switch _, number := Number(text); {
			case comma <= colons && len(bytes.TrimRight(text, ",;|")) < len(text),
				comma == ':' && (len(text) == 0 || bytes.IndexByte(text, ' ') >= 0):
				foreign++
			case number || isMissing(text) || isNullWord(text) || markOf(text) != noMark:
				numbers++
			case !x.quoted && (len(text) < len(x.text) || bytes.ContainsAny(text, ",;|\t")):
				foreign++
			}
		}
	})
	width := first
	for w, n := range widths {
		if n > widths[width] || n == widths[width] && w > width {
			width = w
		}
	}
	if width < 2 {
		return math.Inf(-1), broken, false
	}
	score = float64(numbers)/float64(all) - float64(foreign)/float64(rows)
	if rows > 1 {
		score -= 10 * float64(rows-1-widths[width]) / float64(rows-1)
	}
	if first != width && (first != width-1 || first < 2) {
		score -= 2
	}
	return score, broken, first == width && widths[width] == rows-1
}

// findExtra finds out whether rows end with a separator or begin with a name.
func (t *table) findExtra(head []byte) {
	c := cells{table: t, text: head, end: len(head)}
	rows, first, ends, more, header := 0, 0, 0, 0, true
	below := map[int]bool{}
	c.each(func(row []cell) {
		if rows++; rows > 1 {
			below[len(row)] = true
		} else {
			first = len(row)
			for _, x := range row {
				_, number := Number(bytes.TrimSpace(x.text))
				header = header && !number
			}
		}
		if rows > 1 && len(row) == first+1 {
			more++
		}
		if len(row) > 1 && len(bytes.TrimSpace(row[len(row)-1].text)) == 0 {
			ends++
		}
	})
	short := header && more > 0 && more == rows-1
	t.tail = rows > 1 && (ends == rows || short && ends == rows-1)
	t.rowNames = short && !t.tail
	t.titled = rows > 2 && len(below) == 1 && !below[first] && !short && !t.tail
	if t.tail && t.o.Inputs && !header && !t.o.Triples { // the last feature may be missing
		was, _ := t.numbers()
		t.tail = !slices.ContainsFunc(was, func(n int) bool { return max(n, -n) >= first })
	}
}

// above are lines before triples.
var above = regexp.MustCompile(`^([ \t\r]*([#%][^\n]*)?\n)*`)

// leading returns how many lines there are before the rows: those that begin with # and have another number of cells,
// and before triples all that are blank or comments.
func (t *table) leading(head []byte) (n int) {
	if t.o.Triples {
		return bytes.Count(above.Find(head), []byte("\n"))
	}
	cells := func(line string) (n int) {
		for i, part := range strings.Split(line, `"`) {
			n += (1 - i%2) * strings.Count(part, string(rune(t.comma)))
		}
		return n
	}
	var first []int
	rest := string(head[:min(len(head), 1<<16)])
	for strings.HasPrefix(rest, "#") {
		line, after, _ := strings.Cut(rest, "\n")
		first, rest = append(first, cells(line)), after
	}
	line, _, _ := strings.Cut(rest, "\n")
	for line != "" && n < len(first) && first[n] != cells(line) {
		n++
	}
	return n
}
