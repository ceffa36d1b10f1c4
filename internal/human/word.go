package human

import (
	"fmt"
	"strconv"
	"strings"
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
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+:,=@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// mostShown is how many bytes of a text that is not ours are shown.
const mostShown = 300

// Quote is a text that is not ours between quotes, so that nothing in it can move the
// cursor or look like our own words: its beginning if it is long.
func Quote(s string) string {
	if len(s) <= mostShown {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:mostShown], "")) + "..."
}

// Name is a short text that can be printed as it is, else what Quote makes of it.
func Name(s string) string {
	if len(s) > 0 && len(s) <= mostShown && strings.TrimSpace(s) == s && strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
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
