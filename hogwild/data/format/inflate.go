package format

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"strings"
)

// inflater unpacks deflate (RFC 1951) from one array into another, with 64 bits of input at hand. It gives up on all
// that is unusual, and compress/gzip, which takes two to three times as long, then says what it is.
type inflater struct {
	in, out []byte
	bits    uint64
	n       uint // how many of bits are valid; those above are what fill reads again
	at, to  int

	// By the next bits: 0 is no code; else see entry. Behind the first part are tables of what is longer.
	literals  [1<<literalBits + 144<<(longest-literalBits)]uint32
	distances [1<<distanceBits + 15<<(longest-distanceBits)]uint32
}

const (
	literalBits  = 11
	distanceBits = 9
	longest      = 15 // bits of a code
	spareIn      = 16 // bytes behind the input that may be read
	spareOut     = 280
)

// Entries of tables have in bits 0 to 5 how many bits the code takes with its extra ones, in 8 to 15 how many without,
// in 16 to 30 a byte, or the least length or distance. At isLong bits 16 to 30 are where the next table begins.
const (
	isByte = 1 << 31
	isLong = 1 << 7
	isEnd  = 1 << 6
)

// unzip unpacks a file of gzip that has one part, followed by spareIn bytes, into out, and leaves spareOut bytes
// free.
func unzip(in, out []byte) (n int, ok bool) {
	const name = 8
	end := len(in) - spareIn - 8 // of the deflated part
	if end < 12 || string(in[:3]) != "\x1f\x8b\x08" || in[3]&^name != 0 {
		return 0, false
	}
	f := &inflater{in: in, out: out, at: 10}
	for f.at < end && in[3] == name && in[f.at] != 0 {
		f.at++
	}
	if in[3] == name {
		f.at++
	}
	for last := false; !last; {
		if last, ok = f.block(); !ok {
			return 0, false
		}
	}
	sums := in[end:]
	return f.to, f.at-int(f.n/8) == end && binary.LittleEndian.Uint32(sums[4:]) == uint32(f.to) &&
		binary.LittleEndian.Uint32(sums) == crc32.ChecksumIEEE(out[:f.to])
}

// fill makes sure of 56 bits.
func (f *inflater) fill() bool {
	if f.at+8 > len(f.in) {
		return false
	}
	f.bits |= binary.LittleEndian.Uint64(f.in[f.at:]) << (f.n & 63)
	f.at += int(63-f.n) / 8
	f.n |= 56
	return true
}

func (f *inflater) take(k uint) int {
	v := f.bits & (1<<k - 1)
	f.bits, f.n = f.bits>>k, f.n-k
	return int(v)
}

// block unpacks a block, and says whether it is the last one.
func (f *inflater) block() (last, ok bool) {
	if !f.fill() {
		return false, false
	}
	last = f.take(1) == 1
	var lengths [320]uint8
	n, m := 288, 32
	switch f.take(2) {
	case 0:
		return last, f.stored()
	case 1:
		of := strings.Repeat
		copy(lengths[:], of("\x08", 144)+of("\x09", 112)+of("\x07", 24)+of("\x08", 8)+of("\x05", 32))
	case 2:
		n, m = f.take(5)+257, f.take(5)+1
		if n > 286 || m > 30 || !f.lengths(lengths[:n+m], f.take(4)+4) {
			return false, false
		}
	default:
		return false, false
	}
	ok = index(f.literals[:], lengths[:n], literalBits, literal) &&
		index(f.distances[:], lengths[n:n+m], distanceBits, distance) && f.symbols()
	return last, ok
}

// stored copies a block that is not packed.
func (f *inflater) stored() bool {
	from := f.at - int(f.n/8) + 4
	if from > len(f.in) {
		return false
	}
	size := binary.LittleEndian.Uint16(f.in[from-4:])
	f.bits, f.n, f.at = 0, 0, from+int(size)
	if size != ^binary.LittleEndian.Uint16(f.in[from-2:]) || f.at > len(f.in) || f.to+int(size) > len(f.out) {
		return false
	}
	f.to += copy(f.out[f.to:], f.in[from:f.at])
	return true
}

// lengths reads how long the codes of a block are, which are coded themselves.
func (f *inflater) lengths(lengths []uint8, codes int) bool {
	var own [19]uint8
	order := [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	for _, i := range order[:codes] {
		if f.n < 3 && !f.fill() {
			return false
		}
		own[i] = uint8(f.take(3))
	}
	var table [1 << 7]uint32
	if !index(table[:], own[:], 7, func(s int) uint32 { return uint32(s+1) << 16 }) {
		return false
	}
	for i := 0; i < len(lengths); {
		e := uint32(0)
		if f.fill() {
			e = table[f.bits&127]
		}
		f.take(uint(e & 63))
		length, times := uint8(e>>16-1), 1
		switch {
		case e == 0 || length == 16 && i == 0:
			return false
		case length == 16:
			length, times = lengths[i-1], 3+f.take(2)
		case length == 17:
			length, times = 0, 3+f.take(3)
		case length == 18:
			length, times = 0, 11+f.take(7)
		}
		if i+times > len(lengths) {
			return false
		}
		for ; times > 0; times-- {
			lengths[i] = length
			i++
		}
	}
	return true
}

// literal returns what a code of the first kind stands for: a byte, the end of the block, or a length.
func literal(s int) uint32 {
	switch {
	case s < 256:
		return isByte | uint32(s)<<16
	case s == 256:
		return isEnd
	case s == 285:
		return 258 << 16
	case s > 285: // the fixed code has two more
		return 0
	}
	return stretch(uint32(s-257), 4, 3)
}

// distance returns what a code of the second kind stands for.
func distance(s int) uint32 {
	if s > 29 {
		return 0
	}
	return stretch(uint32(s), 2, 1)
}

// stretch returns code v of lengths or distances: each few have one more extra bit than the few before.
func stretch(v, few, least uint32) uint32 {
	if v < few {
		return (v + least) << 16
	}
	extra := v/few - 1
	return ((few+v%few)<<extra+least)<<16 | extra
}

// index fills a table by the lengths of codes; not ok if they are no code.
func index(table []uint32, lengths []uint8, width uint, entry func(s int) uint32) bool {
	var count, next [longest + 1]int
	for _, l := range lengths {
		count[l]++
	}
	left, used := 1, len(lengths)-count[0]
	count[0] = 0
	for l := 1; l <= longest; l++ {
		next[l] = (next[l-1] + count[l-1]) << 1
		if left = left<<1 - count[l]; left < 0 {
			return false
		}
	}
	if left > 0 && used > 1 || used == 1 && count[1] == 0 {
		return false
	}
	free := 1 << width
	clear(table[:free])
	for s, l := range lengths {
		if l == 0 {
			continue
		}
		code := int(bits.Reverse16(uint16(next[l])) >> (16 - l))
		next[l]++
		part, e := table[:1<<width], entry(s)
		if e > 0 {
			e += uint32(l) * 0x101
		}
		if up := uint(l); up > width {
			first := &table[code&(1<<width-1)]
			if *first == 0 {
				*first = isLong | uint32(free)<<16
				free += 1 << (longest - width)
			}
			at := int(*first >> 16)
			part, code, l = table[at:at+1<<(longest-width)], code>>width, l-uint8(width)
			e -= min(e, uint32(width)*0x101)
		}
		for i := code; i < len(part); i += 1 << l {
			part[i] = e
		}
	}
	return true
}

// symbols unpacks a block by its tables. Up to three bytes, or one length and its distance, take 56 bits at most.
func (f *inflater) symbols() bool {
	in, out, at, to, b, n := f.in, f.out, f.at, f.to, f.bits, f.n
	literals, distances := (*[1 << literalBits]uint32)(f.literals[:]), (*[1 << distanceBits]uint32)(f.distances[:])
	for at+spareIn <= len(in) && to+spareOut <= len(out) {
		b |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
		at += int(63-n) / 8
		n |= 56
		e := literals[b&(1<<literalBits-1)]
		if e >= isByte {
			for k := 0; e >= isByte && k < 3; k++ {
				b, n = b>>(e&63), n-uint(e&63)
				out[to] = byte(e >> 16)
				to++
				e = literals[b&(1<<literalBits-1)]
			}
			b |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
			at += int(63-n) / 8
			n |= 56
		}
		if e&isLong != 0 {
			b, n = b>>literalBits, n-literalBits
			e = f.literals[int(e>>16)+int(b&(1<<(longest-literalBits)-1))]
		}
		extra := b & (1<<(e&63) - 1) >> (e >> 8 & 15)
		b, n = b>>(e&63), n-uint(e&63)
		if e >= isByte {
			out[to] = byte(e >> 16)
			to++
			continue
		}
		if e&isEnd != 0 || e == 0 {
			f.at, f.to, f.bits, f.n = at, to, b, n
			return e != 0
		}
		end := to + int(e>>16) + int(extra)
		if e = distances[b&(1<<distanceBits-1)]; e&isLong != 0 {
			b, n = b>>distanceBits, n-distanceBits
			e = f.distances[int(e>>16)+int(b&(1<<(longest-distanceBits)-1))]
		}
		back := int(e>>16) + int(b&(1<<(e&63)-1)>>(e>>8&15))
		b, n = b>>(e&63), n-uint(e&63)
		if e == 0 || back > to {
			return false
		}
		switch from := to - back; {
		case back >= 8: // more than are meant, which the next ones are written over
			for ; to < end; to, from = to+8, from+8 {
				binary.LittleEndian.PutUint64(out[to:], binary.LittleEndian.Uint64(out[from:]))
			}
		case back == 1:
			for same := uint64(out[from]) * 0x0101010101010101; to < end; to += 8 {
				binary.LittleEndian.PutUint64(out[to:], same)
			}
		default:
			for ; to < end; to, from = to+1, from+1 {
				out[to] = out[from]
			}
		}
		to = end
	}
	return false
}
