package human

import (
	"cmp"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Terminal returns the size of a terminal, and nil if w is none, or one that only prints: TERM=dumb, or the cell of a
// notebook, which keeps all that is drawn.
func Terminal(w io.Writer) func() (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("JPY_PARENT_PID") != "" {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return func() (int, int) {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
			return int(size.Col), int(size.Row)
		}
		columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
		return cmp.Or(max(columns, 0), 80), 24
	}
}

// Next begins a line with a command to copy, which is never broken.
const Next = "Next: "

// Shown is a text as a terminal w shows it best: no line longer than it is wide, and bold what went wrong, unless
// NO_COLOR is set. For any other w it is the text.
func Shown(w io.Writer, text string) string {
	size := Terminal(w)
	if size == nil {
		return text
	}
	columns, _ := size()
	text = Fit(text, columns)
	if os.Getenv("NO_COLOR") == "" {
		text = regexp.MustCompile(`(?m)^(hogwild: |warning +)`).ReplaceAllString(text, "\x1b[1m$1\x1b[0m")
	}
	return text
}

// Fit breaks the lines of a text that are longer than this many columns, and indents what follows. A line is broken at
// words; a table, which is lines without an empty one between them, at one of its columns.
func Fit(text string, columns int) string {
	if columns < 20 { // too narrow to read
		return text
	}
	var lines, fitted []string
	for _, line := range strings.Split(text, "\n") {
		if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], "- ") && strings.HasPrefix(line, "  ") {
			lines[n-1] += line[1:] // it was broken for another width
			continue
		}
		lines = append(lines, line)
	}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[from] != "" && lines[to] != "" {
			to++
		}
		for _, parts := range fit(lines[from:to], columns) {
			fitted = append(fitted, parts...)
		}
		from = to
	}
	return strings.Join(fitted, "\n")
}

// fit returns the lines into which each line of a block is broken.
func fit(block []string, columns int) [][]string {
	all := make([][]string, len(block))
	cut := cutOf(block, columns)
	if cut == 0 {
		for i, line := range block {
			all[i] = breakLine(line, columns)
		}
		return all
	}
	rest := make([]string, len(block))
	for i, line := range block {
		runes := []rune(line)
		head := min(cut, len(runes))
		all[i] = []string{strings.TrimRight(string(runes[:head]), " ")}
		if head < len(runes) {
			rest[i] = "    " + string(runes[head:])
		}
	}
	for i, parts := range fit(rest, columns) {
		if rest[i] != "" {
			all[i] = append(all[i], parts...)
		}
	}
	return all
}

// cutOf is the last column within the terminal at which a cell of a table begins, and none goes on; 0 if there is none,
// or no need. One in the first half would be where the text behind labels begins.
func cutOf(block []string, columns int) (cut int) {
	widest, long := 0, 0
	cells := make([][]rune, len(block))
	for i, line := range block {
		cells[i] = []rune(line)
		widest = max(widest, len(cells[i]))
		if len(cells[i]) > columns {
			long++
		}
	}
	for at := max(columns/2, 2); at < widest && long > 1; at++ {
		begins, wide := 0, false
		for _, c := range cells {
			if at >= len(c) {
				continue
			}
			if c[at-1] != ' ' || c[at-2] != ' ' { // a cell goes on
				begins = -len(block)
			} else if c[at] != ' ' {
				begins++
			}
			wide = wide || len(strings.TrimRight(string(c[:at]), " ")) > columns
		}
		if wide {
			break
		}
		if begins > 0 {
			cut = at
		}
	}
	return cut
}

// breakLine breaks a line at words. What follows stands below the text behind a label, or is indented by two.
func breakLine(line string, columns int) (parts []string) {
	if len([]rune(line)) <= columns || strings.HasPrefix(line, Next) {
		return []string{line}
	}
	label := regexp.MustCompile(`^ *([-*] |\S+( \S+)?  +)?`).FindString(line)
	margin := len([]rune(label))
	if margin == 0 || margin > columns/2 {
		label, margin = "", 2
	}
	runes := []rune(line)
	for indent := 0; len(runes) > columns; indent = margin {
		at := columns
		for at > margin && runes[at] != ' ' {
			at--
		}
		// the word is too long: the terminal breaks it
		if least := max(indent, len([]rune(strings.TrimRight(label, " ")))); at <= least {
			for at = columns; at < len(runes) && runes[at] != ' '; {
				at++
			}
		}
		parts = append(parts, strings.TrimRight(string(runes[:at]), " "))
		rest := strings.TrimLeft(string(runes[at:]), " ")
		if rest == "" {
			return parts
		}
		runes = []rune(strings.Repeat(" ", margin) + rest)
	}
	return append(parts, string(runes))
}

// Widest is the length of the longest line of a text.
func Widest(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(line)-1)
	}
	return most
}
