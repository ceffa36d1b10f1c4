package human

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plural is a number of things: 1 core, 2 cores.
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// ShellWord quotes s where a shell would not take it as it is.
func ShellWord(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("/._-+:,=@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, obeyed) < 0 {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	q := strconv.Quote(s)
	return "$'" + strings.ReplaceAll(q[1:len(q)-1], "'", `\'`) + "'"
}

// ShellPath is ShellWord of a path that is no flag.
func ShellPath(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return ShellWord(path)
}

// Line is Visible of one line, whose line ends are written as \n.
func Line(text string) string { return Visible(strings.ReplaceAll(text, "\n", `\n`)) }

// Quote is a text that is not ours between quotes, so that nothing in it can move the
// cursor or look like our own words: its beginning if it is long.
func Quote(s string) string {
	if len(s) <= mostQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:mostQuoted], "")) + "..."
}

// Name is a short text that can be printed as it is, else what Quote makes of it.
func Name(s string) string {
	if len(s) > 0 && len(s) <= mostQuoted && utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
		return s
	}
	return Quote(s)
}

// Wrap breaks a text into lines.
func Wrap(words string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(words) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// mostQuoted is how many bytes of a user's text a message repeats.
const mostQuoted = 300

// Brief is a text of at most 300 bytes: of a longer one its beginning and its end.
func Brief(text string) string { return brief(text, mostQuoted) }

func brief(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const gap = " ... "
	tail := (most - len(gap)) / 4
	from, to := most-len(gap)-tail, len(text)-tail
	for !utf8.RuneStart(text[from]) {
		from--
	}
	for !utf8.RuneStart(text[to]) {
		to++
	}
	return text[:from] + gap + text[to:]
}

// quoted is what a message repeats of a user's text: a quoted string, or a word without white space.
const quoted = `"(?:[^"\\\n]|\\.)*"|\S+`

// mostLine is how many bytes a line of a message may have, for texts with white space that are
// not quoted, as of a path.
const mostLine = 1000

// BriefMessage is a message in which nothing that a user wrote takes more than 300 bytes.
func BriefMessage(message string) string {
	if len(message) <= mostQuoted {
		return message
	}
	message = regexp.MustCompile(quoted).ReplaceAllStringFunc(message, Brief)
	lines := strings.Split(message, "\n")
	for i := range lines {
		lines[i] = brief(lines[i], mostLine)
	}
	return strings.Join(lines, "\n")
}

// obeyed reports whether a terminal does not show a character but does what it says: moves the cursor, begins a line,
// or writes from right to left.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Visible is a text whose lines a terminal only shows: control characters but line ends and tabs are
// written as JSON does, \u001b.
func Visible(text string) string {
	written := func(r rune) bool { return obeyed(r) && r != '\n' && r != '\t' }
	if strings.IndexFunc(text, written) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if written(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mostLines is how many lines a message may have: more come from a name with line ends.
const mostLines = 4

// Printable is a text in which a terminal finds nothing to obey: control characters are written as in Go, and so are
// the line ends of more than four lines.
func Printable(text string) string {
	var b strings.Builder
	long := strings.Count(text, "\n") >= mostLines
	for _, r := range text {
		if obeyed(r) && (r != '\n' || long) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Suggest is "; did you mean X?" for the name that is most like the word, or
// nothing when none is like it.
func Suggest(prefix, word string, names []string) string {
	best, least := "", 1+min(2, len(word)/2)
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// distance counts the letters to insert, delete or replace to make b of a
// (Levenshtein): row[j] is the distance from the part of a read so far to b[:j].
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			replace := before[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, before[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
