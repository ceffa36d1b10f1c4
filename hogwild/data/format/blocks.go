package format

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
)

// blockBytes is about how long a block is: it stays in the cache of a core.
var blockBytes = 256 << 10 // tests need less

// block is some rows of a table, one behind the other, and what was read of them.
type block struct {
	cells
	err  error // what ended them
	done chan struct{}

	rows, unlabelled int       // that there are; that have no value of the target
	columns          []column  // of a table that is read for the first time
	given            []Row     // rows to be learned from, or to be predicted, without
	val              []float32 // their inputs
	idx              []uint32  // of sparse rows
	ends             []int     // where each row ends in them
	holes, unseen    []int     // see inputs
	entries          []entry   // of triples
	names            [][]byte  // their ids that are no plain numbers
	kept             []byte    // the letters of these
}

// entry is a triple in a block.
type entry struct {
	line, behind int32     // where it stands, and what follows
	ids          [2]uint32 // above MaxID: which of the block's names
	value        float64
}

// blocks cuts a table into blocks, which do not depend on the machine, and has as many goroutines as there are
// processors read them. A table that is read as it comes has blocks of a row.
type blocks struct {
	*table
	begin        func(*block)       // what is done with a block before it is read, one after the other
	row          func(*block) error // what is done with each row
	count        func(*block)       // what hand does with a block that was read
	pos, line    int                // what is not cut yet
	width        int                // cells of the first row
	ahead, spare []*block
	last         *block // that next returned
	taken        int    // of its rows, by hand
	once         bool   // the text is not read again
}

// cut makes a table begin with its first row.
func (t *table) cut() *blocks {
	q := &blocks{table: t, line: t.skipped + 1, width: len(t.columns), begin: func(*block) {}}
	for range t.skipped {
		if t.rest == nil {
			q.pos += bytes.IndexByte(t.Text[q.pos:], '\n') + 1
		}
		for more := t.rest != nil; more; {
			_, err := t.rest.ReadSlice('\n')
			more = errors.Is(err, bufio.ErrBufferFull)
		}
	}
	return q
}

// first reads the first row; io.EOF if there is none.
func (q *blocks) first() (*block, error) {
	for b := q.take(1); b != nil; b = q.take(1) {
		if b.err == nil {
			b.err = b.next()
		}
		q.tell(b)
		if b.err != io.EOF {
			q.width = len(b.row)
			return b, b.err
		}
	}
	return nil, io.EOF
}

// again reads the first row once more, with the others.
func (q *blocks) again(b *block) {
	b.pos, b.line = b.from, b.at
	q.start(b)
}

// next returns the next block, which has been read; nil behind the last.
func (q *blocks) next() *block {
	if q.last != nil {
		if q.once {
			q.letGo(q.last.end)
		}
		q.spare, q.last = append(q.spare, q.last), nil
	}
	for len(q.ahead) == 0 || q.rest == nil && len(q.ahead) <= runtime.GOMAXPROCS(0) {
		b := q.take(blockBytes * (1 + q.width>>9))
		if b == nil {
			break
		}
		q.start(b)
	}
	if len(q.ahead) == 0 {
		return nil
	}
	q.last = q.ahead[0]
	q.ahead = append(q.ahead[:0], q.ahead[1:]...)
	<-q.last.done
	q.tell(q.last)
	for i := 0; q.last.err != nil && i < len(q.ahead); i++ {
		<-q.ahead[i].done // they are not needed, and the text may go
	}
	return q.last
}

// hand returns the next row that was read: the block, and which of its rows or entries it is; io.EOF behind the last.
func (q *blocks) hand() (b *block, row int, err error) {
	if q == nil {
		return nil, 0, io.EOF
	}
	for q.last == nil || q.taken == len(q.last.given)+len(q.last.entries) {
		if q.last != nil && q.last.err != nil {
			return nil, 0, q.last.err
		}
		if q.taken = 0; q.next() == nil {
			return nil, 0, io.EOF
		}
		if q.count != nil {
			q.count(q.last)
		}
	}
	q.taken++
	return q.last, q.taken - 1, nil
}

// start has a goroutine read a block.
func (q *blocks) start(b *block) {
	b.given, b.val, b.rows, b.unlabelled = b.given[:0], b.val[:0], 0, 0
	b.idx, b.ends = b.idx[:0], b.ends[:0]
	b.entries, b.names, b.kept = b.entries[:0], b.names[:0], b.kept[:0]
	b.holes, b.unseen = resized(b.holes, q.width), resized(b.unseen, q.width)
	q.begin(b)
	q.ahead = append(q.ahead, b)
	read := func() {
		for b.err == nil {
			if b.err = b.next(); b.err == nil {
				b.rows++
				b.err = q.row(b)
			}
		}
		if b.err == io.EOF {
			b.err = nil
		}
		b.done <- struct{}{}
	}
	if q.rest != nil {
		read()
	} else {
		go read()
	}
}

// resized returns a slice of n zeros, in the memory of v if that suffices.
func resized[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// tell keeps what is wrong with a file that is only described.
func (q *blocks) tell(b *block) {
	for _, err := range b.complaints {
		_ = q.refuse(err)
	}
	b.complaints = nil
}

// take returns the next rows, that many bytes at least; nil behind the last.
func (q *blocks) take(size int) *block {
	b := &block{done: make(chan struct{}, 1), idx: []uint32{}}
	if n := len(q.spare); n > 0 {
		b, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	b.table, b.line, b.width, b.err = q.table, q.line, q.width, nil
	if q.rest != nil {
		return q.record(b)
	}
	if b.text, b.pos = q.Text, q.pos; q.pos == len(b.text) {
		return nil
	}
	end, quotes := min(q.pos+size-1, len(b.text)), 0
	for from := q.pos; from == q.pos || quotes%2 > 0 && end < len(b.text); from = end {
		if n := bytes.IndexByte(b.text[end:], '\n'); n >= 0 {
			end += n + 1
		} else {
			end = len(b.text)
		}
		quotes += q.quotes(b.text[from:end])
	}
	q.line += bytes.Count(b.text[q.pos:end], []byte("\n"))
	b.end, q.pos = end, end
	return b
}

// quotes counts those that are no letters.
func (l *layout) quotes(text []byte) int {
	if l.letters {
		return 0
	}
	return bytes.Count(text, []byte(`"`))
}

// record reads a row as it comes: a line, or more if a quote is open at its end.
func (q *blocks) record(b *block) *block {
	b.text, b.end = b.text[:0], 0
	for quotes := 0; ; {
		part, err := q.rest.ReadSlice('\n')
		b.text, b.pos, b.line = append(b.text, part...), 0, q.line
		b.end = len(b.text)
		n := q.quotes(part)
		quotes += n
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && b.end <= mostRow:
			continue
		case err == io.EOF && b.end == 0:
			return nil
		case err != nil && err != io.EOF && b.end <= mostRow:
			b.err = q.failed(err)
		case err == nil && quotes%2 > 0 && b.end <= mostRow && (n%2 == 0 || b.split() && !q.o.Triples || b.open):
			continue
		}
		b.pos, b.line = 0, q.line
		q.line += bytes.Count(b.text, []byte("\n"))
		return b
	}
}
