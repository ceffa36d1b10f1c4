package format

import (
	"bytes"
	"io"

	"hogwild/internal/human"
)

// lists is a file of what users liked, as LightGCN has it: a line is a user and the items.
type lists struct {
	f           File
	s           *Source
	at, line    int
	user, items []byte // of the line at hand: the items that are left of it
	empty, read int
}

// listMarks part the cells of a line.
const listMarks = " \t,\r"

func openLists(s *Source, asked bool) (*File, error) {
	p := &lists{s: s}
	p.f.Format, p.f.Kind, p.f.Heads, p.f.Next = "lists", Pairs, make([]string, 2), p.next
	for _, c := range s.Text {
		if bytes.IndexByte([]byte(listMarks), c) >= 0 {
			p.f.Rows++
		}
	}
	if !asked {
		p.f.notef("read as lists: each line is a user and the items; --format ratings reads it as pairs")
	}
	return &p.f, s.CheckLines(s.Text, 0)
}

// nextCell cuts the first cell off a line.
func nextCell(line []byte) (cell, rest []byte) {
	line = bytes.TrimLeft(line, listMarks)
	if n := bytes.IndexAny(line, listMarks); n >= 0 {
		return line[:n], line[n:]
	}
	return line, nil
}

// next hands out the next user and item.
func (p *lists) next(row *Row) error {
	var item []byte
	for {
		if item, p.items = nextCell(p.items); len(item) > 0 {
			break
		}
		if p.at >= len(p.s.Text) {
			return p.end()
		}
		end := LineEnd(p.s.Text, p.at)
		p.user, p.items = nextCell(bytes.TrimRight(p.s.Text[p.at:end], "\n"))
		p.at, p.line = end, p.line+1
		if first, _ := nextCell(p.items); len(p.user) > 0 && len(first) == 0 {
			p.empty++
		}
	}
	p.read++
	*row = Row{Line: p.line, Label: 1}
	for k, id := range [2][]byte{p.user, item} {
		var plain bool
		if row.IDs[k], plain = plainID(id); !plain {
			row.Names[k] = id
		}
	}
	return nil
}

// end is called behind the last one.
func (p *lists) end() error {
	if p.f.Read = p.read; p.empty > 0 {
		p.f.notef("left out %s without an item", human.Plural(p.empty, "user"))
		p.empty = 0
	}
	return io.EOF
}

// LooksLikeLists reports whether the lines are whole numbers alone, of different counts.
func (s *Source) LooksLikeLists() bool {
	head := s.Text[:min(len(s.Text), 1<<16)]
	if len(head) < len(s.Text) {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	first, differ := 0, false
	for line := range bytes.Lines(head) {
		n := 0
		for cell, rest := nextCell(bytes.TrimRight(line, "\n")); len(cell) > 0; cell, rest = nextCell(rest) {
			if _, plain := plainID(cell); !plain {
				return false
			}
			n++
		}
		if n > 0 && first == 0 {
			first = n
		}
		differ = differ || n > 0 && n != first
	}
	return differ
}
