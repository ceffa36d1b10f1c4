package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hogwild/hogwild/data/catalog"
	"hogwild/hogwild/data/get"
	"hogwild/internal/human"
)

// downloads shows how far downloads are: on a terminal by one live line, elsewhere by a line for each file
// that is done and for every ten seconds.
type downloads struct {
	w       io.Writer
	quiet   bool
	columns func() int // nil: not a terminal

	now   get.Step
	since time.Time // when the work on the file began
	first int64     // bytes that were there then
	drawn time.Time // of the last line
	live  bool      // a live line is on the screen
}

func newDownloads(w io.Writer, quiet bool) *downloads {
	d := &downloads{w: w, quiet: quiet}
	if size := human.Terminal(w); size != nil {
		d.columns = func() int {
			columns, _ := size()
			return columns
		}
	}
	return d
}

// terms names what is going to be downloaded, and on which terms, quiet or not.
func (d *downloads) terms(s catalog.Set) {
	text := s.Name + ": " + s.About + "\n"
	for _, about := range []struct{ what, words string }{{"terms", strings.Join(s.Terms, " ")}, {"cite", s.Cite}, {"see", s.Page}} {
		for i, line := range human.Wrap(about.words, 70) {
			if i > 0 {
				about.what = ""
			}
			text += fmt.Sprintf("  %-6s %s\n", about.what, line)
		}
	}
	d.print(text)
}

// step takes in how far it is.
func (d *downloads) step(s get.Step) {
	if d.quiet {
		return
	}
	now := time.Now()
	if s.File != d.now.File || s.Doing != d.now.Doing {
		d.since, d.first, d.drawn = now, s.Done, now.Add(-time.Minute)
		if d.columns == nil {
			d.drawn = now
		}
	}
	d.now = s
	every := 100 * time.Millisecond
	if d.columns == nil {
		every = 10 * time.Second
	}
	switch {
	case s.Doing == get.Whole:
		d.print(fmt.Sprintf("%s  %s\n", s.File, get.Bytes(s.Total)))
	case now.Sub(d.drawn) >= every:
		d.drawn = now
		d.draw(now.Sub(d.since).Seconds())
	}
}

// draw writes the line of a file on which the work is not done.
func (d *downloads) draw(seconds float64) {
	s, text := d.now, fmt.Sprintf("%s  %s", d.now.File, get.Bytes(d.now.Done))
	if s.Doing != get.Downloading {
		text = fmt.Sprintf("%s  %s", s.File, s.Doing)
	}
	if s.Total > 0 {
		text += fmt.Sprintf(" of %s  %3.0f%%", get.Bytes(s.Total), 100*float64(s.Done)/float64(s.Total))
	}
	if rate := float64(s.Done-d.first) / seconds; seconds > 0.5 && rate > 0 {
		text += "  " + human.Rate(rate) + "B/s"
		if s.Total > 0 {
			text += "  " + human.Clock(float64(s.Total-s.Done)/rate) + " left"
		}
	}
	if d.columns == nil {
		d.print(text + "\n")
		return
	}
	columns := d.columns() - 1
	if width := min(columns-len(text)-len("[]  "), 40); width >= 10 && s.Total > 0 {
		full := int(float64(width) * float64(s.Done) / float64(s.Total))
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]  " + text
	}
	fmt.Fprint(d.w, "\r\x1b[K"+text[:min(len(text), max(columns, 0))])
	d.live = true
}

// note shows something that happened and should not have, quiet or not.
func (d *downloads) note(line string) { d.print(line + "\n") }

// print writes lines in the place of the live one.
func (d *downloads) print(lines string) {
	d.close()
	fmt.Fprint(d.w, lines) // a terminal that cannot be written to is no reason to stop
}

// close takes the live line away.
func (d *downloads) close() {
	if d.live {
		fmt.Fprint(d.w, "\r\x1b[K")
		d.live = false
	}
}
