package text

import (
	"unicode"
	"unicode/utf8"
)

// blank are the bytes between words: 2 for fastText, 4 for Python, 6 for both, and 8 where a character begins that
// Python may take as a blank.
var blank = [256]uint8{' ': 6, '\t': 6, '\n': 6, '\v': 6, '\f': 6, '\r': 6, 0: 2, 0x1c: 4, 0x1d: 4, 0x1e: 4, 0x1f: 4,
	0xc2: 8, 0xe1: 8, 0xe2: 8, 0xe3: 8}

// word returns where the first word at or behind a byte begins and ends, with the blanks of fastText; from is len(b)
// behind the last.
func word(b []byte, at int) (from, to int) {
	for at < len(b) && blank[b[at]]&2 != 0 {
		at++
	}
	for to = at; to < len(b) && blank[b[to]]&2 == 0; to++ {
	}
	return at, to
}

// gensimWord returns what word does, with the blanks of Python's str.split, which gensim uses.
func gensimWord(b []byte, at int) (from, to int) {
	for at < len(b) {
		n := gensimBlank(b[at:])
		if n == 0 {
			break
		}
		at += n
	}
	for to = at; to < len(b) && (blank[b[to]]&(4|8) == 0 || gensimBlank(b[to:]) == 0); to++ {
	}
	return at, to
}

// gensimBlank returns how long the blank is that b begins with; 0: none.
func gensimBlank(b []byte) int {
	switch is := blank[b[0]]; {
	case is&4 != 0:
		return 1
	case is&8 != 0:
		if r, n := utf8.DecodeRune(b); n > 1 && unicode.IsSpace(r) {
			return n
		}
	}
	return 0
}
