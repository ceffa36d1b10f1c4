package human

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Live is a block of lines at the bottom of a terminal that is drawn again and again, while others scroll away above
// it. Elsewhere there is no block.
type Live struct {
	W    io.Writer
	Size func() (columns, rows int) // nil: W is no terminal
	// the length of each line of the block on the screen, in characters; the cursor is below
	drawn []int
}

// NewLive returns a Live on w, nil for nowhere, that shows nothing yet.
func NewLive(w io.Writer) Live {
	if w == nil {
		w = io.Discard
	}
	return Live{W: w, Size: Terminal(w)}
}

// Draw writes lines above the block, and draws another block, or none, in the place of the old one, in one write to
// avoid flicker. It cuts a line of the block that is wider than the screen, and a block that is higher. The escapes,
// both in ECMA-48: cursor up (A), erase to the end of the line (K). Erasing the screen (J) is shorter, but where the
// block reaches the top, tmux and others then save all of it among the lines that scrolled away.
func (l *Live) Draw(above []string, block ...string) error {
	var b bytes.Buffer
	columns, rows := 0, 0
	if l.Size != nil {
		columns, rows = l.Size()
	}
	if n := l.height(columns); n > 0 {
		b.WriteString("\r\x1b[K" + strings.Repeat("\x1b[A\x1b[K", n))
	}
	for _, line := range above {
		b.WriteString(Fit(Visible(line), columns) + "\n")
	}
	// one line and one column stay free, or the terminal would scroll or wrap
	if most := max(rows-1, 1); len(block) > most {
		block = append(block[:most-1:most-1], fmt.Sprintf("... %d more lines", len(block)-most+1))
	}
	l.drawn = l.drawn[:0]
	for _, line := range block {
		if l.Size == nil {
			break
		}
		runes := []rune(Visible(line))
		runes = runes[:min(len(runes), max(columns-1, 0))]
		l.drawn = append(l.drawn, len(runes))
		b.WriteString(string(runes) + "\n")
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := l.W.Write(b.Bytes())
	return err
}

// height is the number of rows of the block on the screen. A terminal that was made
// narrower wraps lines that were drawn for more columns.
func (l *Live) height(columns int) (rows int) {
	for _, n := range l.drawn {
		rows += max(1, (n+columns-1)/max(columns, 1))
	}
	return rows
}
