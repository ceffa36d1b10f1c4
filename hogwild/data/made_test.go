package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// madeFile is a file, and how pandas reads it.
type madeFile struct {
	Path, Kind string
	Args       map[string]any // of pandas.read_csv
	Target     string         // the column to predict, or of ratings and edges all of them in order
}

// writer writes files that differ in all that pandas has parameters for.
type writer struct {
	*rand.Rand
	t     *testing.T
	dir   string
	files []madeFile

	sep, decimal, group, quotes, pad, last, end string // of the file that is being written
	text                                        []byte
}

// one draws one of the values.
func one[T any](m *writer, of ...T) T { return of[m.IntN(len(of))] }

// style draws how the next file is written.
func (m *writer) style(separators ...string) {
	m.sep, m.decimal, m.group = one(m, separators...), one(m, ".", ".", ","), ""
	m.pad, m.last = "", ""
	m.quotes, m.end = one(m, "none", "minimal", "texts", "all"), one(m, "\n", "\n", "\r\n")
	if m.decimal == m.sep {
		m.quotes = one(m, "minimal", "all")
	}
}

// number writes a number with this many decimals. Three of them would have two readings behind a comma.
func (m *writer) number(v float64, decimals int) string {
	whole, digits, has := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', decimals, 64), ".")
	for at := len(whole) - 3; at > 0 && m.group != ""; at -= 3 {
		whole = whole[:at] + m.group + whole[at:]
	}
	if has {
		whole += m.decimal + digits
	}
	if v < 0 {
		return "-" + whole
	}
	return whole
}

// line joins cells, in the quotes of the file.
func (m *writer) line(cells []string) string {
	line := make([]string, len(cells))
	for i, cell := range cells {
		_, err := strconv.ParseFloat(cell, 64)
		needed := strings.ContainsAny(cell, m.sep+"\"\n\r")
		if line[i] = cell; m.quotes == "all" || m.quotes == "texts" && err != nil || m.quotes != "none" && needed {
			line[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
	}
	return strings.Join(line, m.sep+m.pad) + m.last + m.end
}

// write keeps the file, perhaps packed, with a byte order mark, or without the end of the last line.
func (m *writer) write(kind, target string, args map[string]any) {
	text := string(m.text)
	m.text = nil
	ending := one(m, "csv", "txt", "tsv", "data")
	if kind == "words" || kind == "labels" {
		ending = "txt" // others are for tables
	}
	name := fmt.Sprintf("%03d-%s.%s", len(m.files), kind, ending)
	if m.IntN(8) == 0 {
		text = "\ufeff" + text
	}
	if m.IntN(4) == 0 {
		text = strings.TrimSuffix(text, m.end)
	}
	if m.IntN(6) == 0 {
		name, text = name+".gz", packed(m.t, text)
	}
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.files = append(m.files, madeFile{path, kind, args, target})
}

// comments draws lines before the others, and says to pandas how many there are.
func (m *writer) comments(args map[string]any, begin string) {
	if m.IntN(4) != 0 {
		return
	}
	n := 1 + m.IntN(3)
	args["skiprows"] = n
	for range n {
		m.text = append(m.text, begin+" made by a program"+m.end...)
	}
}

// levels are texts of columns: the first four sets need no quotes, the last is of two lines.
var levels = [][]string{{"red", "dark green", "blue"}, {"grün", "Zürich", "日本", "naïve café"},
	{"20_1", "2_01", "19_12"}, {"True", "False"}, {"a,b;c|d\te", "he said \"no\"", "plain"},
	{"two\nlines", "\"quoted\"", "O'Neill"}}

// missing are words for no value: the first in any column, the others in columns of numbers alone.
var missing = []string{"", "NA", "NaN", "null", "N/A", "?", "None", "<NA>", "#N/A", "-nan", `\N`}

// column draws what is in a column: its kind of cells, and which words it has for no value.
func (m *writer) column(kind int) (draw func() string, holes []string) {
	holes = missing[:one(m, 0, len(missing))]
	switch kind {
	case 0: // whole, a third below 1000 where thousands have marks
		return func() string { return m.number(math.Trunc(40*math.Pow(2000, m.Float64())), 0) }, holes
	case 1:
		decimals := one(m, 1, 2, 4)
		return func() string { return m.number(90*m.NormFloat64(), decimals) }, holes
	case 2:
		exponents := []string{"", "", "e3", "E-2"}
		if m.decimal == "," { // behind it they are read as text
			exponents = exponents[:2]
		}
		return func() string { return m.number(9*m.NormFloat64(), 2) + one(m, exponents...) }, holes
	case 3:
		return func() string {
			return one(m, "+", "", "-") + one(m, "0", "", "00") + strconv.Itoa(1+m.IntN(999)) + one(m, m.decimal, "")
		}, holes
	}
	last := len(levels)
	switch {
	case m.quotes == "none":
		last = 4
	case m.end == "\r": // a cell of two lines would have another end
		last = 5
	}
	texts := levels[m.IntN(last)]
	return func() string { return one(m, texts...) }, missing[:min(len(holes), 6)]
}

// table writes a table of numbers and texts with a target among the columns.
func (m *writer) table() {
	m.style(",", ",", ";", "\t", "|")
	m.end = one(m, m.end, m.end, m.end, m.end, "\r")
	header := one(m, "names", "names", "none", "index", "R")
	if m.IntN(8) == 0 && header != "R" {
		m.last = m.sep
	}
	args := map[string]any{"sep": m.sep, "decimal": m.decimal}
	if m.IntN(3) == 0 {
		m.group = map[string]string{".": ",", ",": "."}[m.decimal]
		args["thousands"] = m.group
		if m.group == m.sep {
			m.quotes = one(m, "minimal", "all")
		}
	}
	if m.sep != "\t" && m.quotes == "none" && m.IntN(3) == 0 { // a blank before a quote is an error
		m.pad, args["skipinitialspace"] = " ", true
	}
	columns, n := 2+m.IntN(6), one(m, 60, 100, 140, 140, 3000)
	names, draw, holes := make([]string, columns), make([]func() string, columns), make([][]string, columns)
	target := m.IntN(columns)
	for j := range columns {
		names[j] = one(m, "length", "größe", "x y", "Preis", "in_stock", "a.b") + strconv.Itoa(j)
		if m.quotes != "none" && m.IntN(3) == 0 {
			names[j] = one(m, "w (kg, net; 3|4)", "\"in\" quotes", "tab\tin") + strconv.Itoa(j)
		}
		kind := m.IntN(5)
		switch {
		case j == 0: // one column of numbers at least, by which a file without names is known
			kind = m.IntN(3)
		case j == target && kind == 3: // with zeros in front they may be names of classes
			kind = 4
		}
		draw[j], holes[j] = m.column(kind)
	}
	if m.comments(args, "#"); m.text == nil && m.IntN(8) == 0 {
		m.text, args["skiprows"] = []byte("sep="+m.sep+m.end), 1
	}
	order := m.Perm(columns)
	row := func(cells []string, first ...string) {
		for _, j := range order {
			first = append(first, cells[j])
		}
		m.text = append(m.text, m.line(first)...)
	}
	named := names[target]
	switch header {
	case "none":
		args["header"], named = nil, strconv.Itoa(1+slices.Index(order, target))
	case "index":
		args["index_col"] = 0
		row(names, "")
	case "R":
		args["index_col"] = 0
		row(names)
	default:
		row(names)
	}
	for i := range n {
		cells := make([]string, columns)
		for j := range cells {
			if cells[j] = draw[j](); i > 0 && len(holes[j]) > 0 && m.IntN(12) == 0 {
				cells[j] = one(m, holes[j]...)
			}
		}
		if header == "index" || header == "R" {
			row(cells, strconv.Itoa(i))
		} else {
			row(cells)
		}
		if m.end != "\r" && m.IntN(100) == 0 { // behind two of those pandas loses an empty cell
			m.text = append(m.text, m.end...)
		}
	}
	m.write("table", named, args)
}

// ids draws a name for each of n things, of one kind.
func (m *writer) ids(n int) (names []string) {
	kind := m.IntN(8)
	for i := range n {
		names = append(names, []string{strconv.Itoa(3 * i), fmt.Sprintf("%05d", i),
			strconv.Itoa(76561197960265728 + 3*i), fmt.Sprintf("A%02dKXJ", i),
			fmt.Sprintf("%08x-41d4-a716-%012x", m.Uint32(), i), fmt.Sprintf("user %d", i),
			fmt.Sprintf("süß%d", i), strconv.Itoa(i+1) + ".0"}[kind])
	}
	return names
}

// triples writes the rows of ratings or edges: two names and a value, in some order of columns.
func (m *writer) triples(kind string) {
	separators := []string{",", ",", ";", "\t", "|", " ", "::"}
	if kind == "edges" { // between two columns alone :: is not found
		separators = separators[:6]
	}
	m.style(separators...)
	args := map[string]any{"sep": m.sep, "decimal": m.decimal}
	if m.sep == "::" {
		m.quotes, args["engine"] = "none", "python"
	}
	if m.sep == " " && m.quotes == "none" {
		m.quotes = "minimal"
	}
	sets := [][]string{{"userId", "movieId", "rating"}, {"user", "item", "value"}, {"User-ID", "ISBN", "Book-Rating"},
		{"customer_id", "product_id", "score"}}
	users, items := m.ids(20+m.IntN(20)), m.ids(10+m.IntN(20))
	if kind == "edges" {
		sets, items = [][]string{{"source", "target", "weight"}, {"from", "to", "weight"}}, users
	}
	names := append(slices.Clone(one(m, sets...)), "timestamp")
	order, width := []int{0, 1, 2, 3}[:3+m.IntN(2)], 3
	// Blanks in ids that have no value behind them are taken for the separator.
	if kind == "edges" && m.IntN(3) == 0 && !strings.Contains(users[0], " ") {
		order, width = order[:2], 2
	}
	header := one(m, "none", "names", "names", "index")
	if m.sep == "::" || m.sep == " " {
		header = "none"
	}
	if _, err := strconv.Atoi(users[0] + items[0]); header == "none" && err != nil {
		args["decimal"], m.decimal = ".", "." // a first line without a number would be taken for names
	}
	m.comments(args, one(m, "#", "%"))
	row := func(cells []string, first string) {
		var line []string
		if header == "index" {
			line = []string{first}
		}
		for _, j := range order {
			line = append(line, cells[j])
		}
		m.text = append(m.text, m.line(line)...)
	}
	target := strings.Join(names[:width], " ")
	if header == "none" {
		target = strings.Join([]string{"1", "2", "3"}[:width], " ")
		args["header"] = nil
	} else {
		m.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		row(names, "")
		if header == "index" {
			args["index_col"] = 0
		}
	}
	decimals, integers := one(m, 1, 2), m.IntN(3) == 0
	for i := range 150 + m.IntN(100) {
		u, v := m.IntN(len(users)), m.IntN(len(items))
		if kind == "edges" && u == v {
			continue // an edge to itself is none
		}
		value := m.number(.5+4*m.Float64(), decimals)
		if integers {
			value = strconv.Itoa(1 + m.IntN(5))
		}
		row([]string{users[u], items[v], value, strconv.Itoa(978300000 + i)}, strconv.Itoa(i))
	}
	m.write(kind, target, args)
}

// sentence returns some words, between the blanks of a kind.
func (m *writer) sentence(blanks []string) string {
	var b strings.Builder
	words := []string{"the", "cat", "Straße", "naïve", "日本", "e-mail", "don't", "3.5", "😀", "x\u200by",
		"a\u00a0b", "W"}
	for range 1 + m.IntN(12) {
		b.WriteString(one(m, words...) + strconv.Itoa(m.IntN(3)) + one(m, blanks...))
	}
	return b.String()
}

// words writes a corpus.
func (m *writer) words() {
	m.end = one(m, "\n", "\n", "\r\n", "\r")
	for range 20 + m.IntN(30) {
		m.text = append(m.text, m.sentence([]string{" ", " ", "  ", "\t", "\u3000"})+m.end...)
		if m.IntN(9) == 0 {
			m.text = append(m.text, m.end...)
		}
	}
	m.write("words", "", nil)
}

// labels writes lines with labels.
func (m *writer) labels() {
	m.end = one(m, "\n", "\n", "\r\n")
	for range 20 + m.IntN(30) {
		for range m.IntN(3) {
			m.text = append(m.text, "__label__"+one(m, "good", "bad", "süß", "3")+" "...)
		}
		m.text = append(m.text, m.sentence([]string{" ", " ", "  ", "\t", "\u3000"})+m.end...)
	}
	m.write("labels", "", nil)
}

// labelled writes a table of texts and classes.
func (m *writer) labelled() {
	m.style(",", ";", "\t")
	m.quotes = one(m, "minimal", "all")
	args := map[string]any{"sep": m.sep, "dtype": "str", "keep_default_na": false}
	target := "1"
	if header := m.IntN(2) == 0; header {
		m.text, target = []byte(m.line([]string{"kind", "title", "body"})), "kind"
	} else {
		args["header"] = nil
	}
	for range 30 + m.IntN(30) {
		title, body := m.sentence([]string{" "}), m.sentence([]string{" ", ", ", "; ", " \"so\" "})
		m.text = append(m.text, m.line([]string{one(m, "good", "bad", "süß"), title, body})...)
	}
	m.write("labelled", target, args)
}
