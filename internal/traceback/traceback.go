// Package traceback finds the cause of a crash in the output of a program. It knows exceptions and fatal errors of
// Python and C++.
package traceback

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Trace is a program's account of its own death.
type Trace struct {
	Reason string // "ValueError: bad"
	Place  string // "step.py:12", the innermost frame outside libraries; "" if it is not known
	Text   string // all of it, from its first line to the end of what was printed
	Fatal  bool   // a signal follows; an exception ends with a status instead
}

// String is reason and place.
func (t *Trace) String() string {
	if t.Place == "" {
		return t.Reason
	}
	return t.Reason + " (" + t.Place + ")"
}

// Patterns of lines without the margin of an exception group. They are compiled when a program has died:
// each process would pay for it at its start.
var patterns = sync.OnceValue(func() (p struct{ margin, exception, fatal, abort, frame, library *regexp.Regexp }) {
	p.margin = regexp.MustCompile(`^ *[|+] |^ *\+-[-+0-9 ]+$`)
	// "Original ", "Exception Group "
	p.exception = regexp.MustCompile(`^([A-Z]\w+ )*Traceback \(most recent call last\):$`)
	p.fatal = regexp.MustCompile(`^Fatal Python error: `)
	p.abort = regexp.MustCompile(`^terminate called (after throwing an instance of '(.+)'|.+)$`)
	// what was printed may have been trimmed
	p.frame = regexp.MustCompile(`^ {0,2}File "(.+)", line (\d+)(, in .+| in .+)?$`)
	p.library = regexp.MustCompile(`^<|/(site|dist)-packages/|/lib/python[0-9.]+/|/hogwild/_[a-z_]+\.py$`)
	return p
})

// Find finds the last one in what a program has printed.
func Find(said string) (t Trace, found bool) {
	p := patterns()
	lines := strings.Split(said, "\n")
	first, last := -1, 0
	for i, line := range lines {
		line = p.margin.ReplaceAllString(strings.TrimRight(line, " \r"), "")
		lines[i] = line
		switch {
		case p.exception.MatchString(line), p.fatal.MatchString(line), p.abort.MatchString(line):
			last = i
		case first < 0 && p.frame.MatchString(line): // a syntax error in the file that Python was called with
			last = i
		default:
			continue
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return t, false
	}
	t.Text = strings.Join(strings.Split(said, "\n")[first:], "\n")
	switch head := lines[last]; {
	case p.fatal.MatchString(head):
		t.Reason, t.Fatal = head, true
		t.Place, _ = place(lines[last:], false)
	case p.abort.MatchString(head):
		t.Fatal = true
		if t.Reason = p.abort.FindStringSubmatch(head)[2]; t.Reason == "" {
			t.Reason = head
		}
		if last+1 < len(lines) {
			if what, ok := strings.CutPrefix(lines[last+1], "  what():  "); ok {
				t.Reason += ": " + what
			}
		}
	default:
		var after int
		t.Place, after = place(lines[last:], true)
		t.Reason = reason(lines[last+after:])
	}
	return t, t.Reason != ""
}

// place returns the place of the innermost frame, outside libraries if there is one, and after how
// many lines the frames end. An exception has it last, a fatal error first.
func place(lines []string, innermostLast bool) (at string, after int) {
	p := patterns()
	own := false
	for i, line := range lines {
		m := p.frame.FindStringSubmatch(line)
		if m == nil {
			if i > 0 && line != "" && line[0] != ' ' && innermostLast {
				break // the reason
			}
			continue
		}
		after = i + 1
		isOwn := !p.library.MatchString(m[1])
		if at == "" || isOwn && !own || isOwn == own && innermostLast {
			at, own = path.Base(m[1])+":"+m[2], isOwn
		}
	}
	return at, after
}

// reason returns the first line that is not indented, as source lines are. One that announces a list has the first line
// of that with it.
func reason(lines []string) string {
	for i, line := range lines {
		if line == "" || line[0] == ' ' || strings.HasSuffix(line, "Traceback (most recent call last):") {
			continue
		}
		if strings.HasSuffix(line, ":") && i+1 < len(lines) {
			line += " " + strings.TrimSpace(lines[i+1])
		}
		return line
	}
	return ""
}
