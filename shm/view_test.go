package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

func TestLayout(t *testing.T) {
	checkLeaks(t)
	var l Layout
	l.Add("bytes", U8, 3)
	l.Add("words", U32, 5, 7)
	l.Add("longs", U64, 1)
	l.Add("nothing", F32, 4, 0, 9)
	l.Add("offsets", I64, 129)
	l.Add("weights", F32, 33, 3, 1)
	l.Add("one", F64) // no lengths: a single number
	s := create(t, &l)

	check := func(name string, offset, elements int) {
		if offset%128 != 0 {
			t.Errorf("%s lies at %d, not on a boundary of 128", name, offset)
		}
		if elements == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	bytes, words, longs := view[uint8](t, s, "bytes"), view[uint32](t, s, "words"), view[uint64](t, s, "longs")
	offsets, weights, one := view[int64](t, s, "offsets"), view[float32](t, s, "weights"), view[float64](t, s, "one")
	if n := [...]int{len(bytes), len(words), len(longs), len(offsets), len(weights), len(one)}; n != [...]int{3, 35,
		1, 129, 99, 1} {
		t.Errorf("lengths %v", n)
	}
	if v := view[float32](t, s, "nothing"); v == nil || len(v) != 0 {
		t.Errorf("the empty array is %v", v)
	}
	table, err := s.readTable()
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range table.entries {
		check(name, e.Offset, max(1, e.elements()))
	}

	// Arrays start as zeros and do not overlap: each keeps what was written to it.
	for i := range s.Bytes()[table.entries["bytes"].Offset:] {
		if b := s.Bytes()[table.entries["bytes"].Offset+i]; b != 0 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	paint(bytes, 1)
	paint(words, 2)
	paint(longs, 3)
	paint(offsets, 4)
	paint(weights, 5)
	paint(one, 6)
	if !kept(bytes, 1) || !kept(words, 2) || !kept(longs, 3) || !kept(offsets, 4) || !kept(weights, 5) ||
		!kept(one, 6) {
		t.Error("two arrays overlap")
	}
	if _, err := s.Checksum(); err != nil {
		t.Error("an array overlaps the head:", err)
	}
}

func paint[T Element](v []T, c T) {
	for i := range v {
		v[i] = c
	}
}

func kept[T Element](v []T, c T) bool {
	return !slices.ContainsFunc(v, func(x T) bool { return x != c })
}

func TestViewRefuses(t *testing.T) {
	checkLeaks(t)
	var l Layout
	l.Add("weights", F32, 10)
	s := create(t, &l)
	_, err := View[float32](s, "weight")
	check.Error(t, err, `no array "weight"`)
	_, err = View[float64](s, "weights")
	check.Error(t, err, "is f32, not f64")
	_, err = View[uint32](s, "weights") // of the same size
	check.Error(t, err, "is f32, not u32")
}

func TestLayoutRefuses(t *testing.T) {
	checkLeaks(t)
	for _, c := range []struct {
		add  func(l *Layout)
		says string
	}{
		{func(l *Layout) { l.Add("w", F32, -1) }, `"w" of shape [-1]: negative`},
		{func(l *Layout) { l.Add("w", F32, 1<<41) }, "too large"},
		{func(l *Layout) { l.Add("w", F32, 1<<32, 1<<32) }, "too large"}, // the product is 0 in 64 bits
		{func(l *Layout) { l.Add("w", F32, 1<<62, 3) }, "too large"},
		{func(l *Layout) { l.Add("w", "f16", 1) }, `unknown kind "f16"`},
		{func(l *Layout) { l.Add("w", F32, 1); l.Add("v", U8, 1); l.Add("w", U8, 1) }, `"w" is defined twice`},
		{func(l *Layout) { l.Add(strings.Repeat("w", maxTable), F32, 1) }, "room"},
		{func(l *Layout) {
			for i := range 20 { // 160 TiB, beyond the addresses of a process
				l.Add(fmt.Sprint(i), F64, 1<<40)
			}
		}, "mapping 175921860"},
	} {
		var l Layout
		c.add(&l)
		_, err := l.Create("layout")
		check.Error(t, err, c.says)
	}
}

func TestEqualChecksumsMeanEqualLayouts(t *testing.T) {
	checkLeaks(t)
	sum := func(name string, kind Kind, shape ...int) uint64 {
		var l Layout
		l.Add("first", U8, 1)
		l.Add(name, kind, shape...)
		c, err := create(t, &l).Checksum()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	own := sum("w", F32, 3, 4)
	if again := sum("w", F32, 3, 4); again != own {
		t.Errorf("the same layout: %x, %x", own, again)
	}
	for what, other := range map[string]uint64{"name": sum("v", F32, 3, 4), "kind": sum("w", U32, 3, 4),
		"shape": sum("w", F32, 4, 3), "rank": sum("w", F32, 12)} {
		if other == own {
			t.Errorf("another %s: the checksum is the same", what)
		}
	}
}

// head writes the head of a segment around a table, all of it right.
func head(mem []byte, text string) {
	copy(mem, magic)
	binary.LittleEndian.PutUint32(mem[8:], version)
	binary.LittleEndian.PutUint32(mem[12:], uint32(len(text)))
	binary.LittleEndian.PutUint64(mem[16:], checksum([]byte(text)))
	copy(mem[headBytes:], text)
}

func TestDamagedHeads(t *testing.T) {
	checkLeaks(t)
	const good = `[{"name":"w","kind":"f32","shape":[32],"offset":896}]` // exactly to the end of 1,024
	for says, damage := range map[string]func(mem []byte){
		"":                                       func(mem []byte) {},
		"no hogwild layout":                      func(mem []byte) { mem[0] = 'H' },
		"layout version 2, this program reads 1": func(mem []byte) { mem[8] = 2 },
		"a table of 1001 bytes in a segment":     func(mem []byte) { mem[12], mem[13] = 1001&255, 1001>>8 },
		"a table of 4294967295 bytes":            func(mem []byte) { copy(mem[12:], "\xff\xff\xff\xff") },
		"its head says":                          func(mem []byte) { mem[16] ^= 1 },
		"the table's checksum is":                func(mem []byte) { mem[headBytes+30] ^= 1 },
	} {
		s, err := Create("damaged", 1024)
		if err != nil {
			t.Fatal(err)
		}
		head(s.Bytes(), good)
		damage(s.Bytes())
		_, err = View[float32](s, "w")
		if says != "" {
			check.Error(t, err, says, "hogwild-damaged")
		} else if err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

func TestTablesThatCannotBe(t *testing.T) {
	checkLeaks(t)
	array := func(kind, shape string, offset int) string {
		return fmt.Sprintf(`[{"name":"w","kind":%q,"shape":%s,"offset":%d}]`, kind, shape, offset)
	}
	for _, c := range []struct{ text, says string }{
		{`[{"name":`, "unexpected end"},
		{`{"name":"w"}`, "cannot unmarshal"},
		{array("f32", "[33]", 896), "runs past the end (1024 bytes)"},
		{array("u8", "[129]", 896), "runs past the end"},
		{array("u8", "[1]", 1024), "runs past the end"},
		{array("u8", "[1]", 1152), "at offset 1152 of 1024 bytes"},
		{array("f32", "[4611686018427387905]", 896), "runs past the end"}, // times 4 is 4 in 64 bits
		{array("u8", "[4294967296,4294967296]", 896), "runs past the end"},
		{array("u8", "[16,16]", 896), "runs past the end"},
		{array("u8", "[]", 1024), "runs past the end"}, // a single number
		{array("u8", "[-1,-1]", 896), "runs past the end"},
		{array("u8", "[0,-1]", 896), "runs past the end"},
		{array("u8", "[99999999999999999999]", 896), "cannot unmarshal"},
		{array("u8", "[1]", 0), "at offset 0 of"}, // on the head
		{array("u8", "[1]", -128), "at offset -128 of"},
		{array("u8", "[1]", 900), "at offset 900 of"},
		{array("f16", "[1]", 896), `kind "f16"`},
		{strings.Repeat(" ", 128) + array("u8", "[1]", 128), "at offset 128 of"}, // on the table
		{`[{"name":"w","kind":"u8","offset":896},{"name":"w","kind":"u8","offset":896}]`, "twice"},
	} {
		s, err := Create("table", 1024)
		if err != nil {
			t.Fatal(err)
		}
		head(s.Bytes(), c.text)
		_, err = s.Checksum()
		check.Error(t, err, c.says)
		s.Close()
	}
	s, err := Create("small", headBytes-1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	copy(s.Bytes(), magic)
	_, err = s.Checksum()
	check.Error(t, err, "no hogwild layout (23 bytes)")
}

// FuzzTable reads arbitrary heads, and arbitrary tables under a right head. What is
// accepted lies within the segment.
func FuzzTable(f *testing.F) {
	f.Add([]byte(magic+"\x01\x00\x00\x00\x02\x00\x00\x00"), false)
	f.Add([]byte(`[{"name":"w","kind":"f32","shape":[8],"offset":128},{"name":"v","kind":"u8","offset":256}]`), true)
	f.Add([]byte(`[{"name":"w","kind":"f64","shape":[0,-9],"offset":384}]`), true)
	f.Add([]byte(`[{"name":"one","kind":"f64","offset":384}]`), true)
	f.Add([]byte(`null`), true)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		s, err := Create("fuzz", roundUp(headBytes+len(b), align)+2*align)
		if err != nil {
			t.Skip(err)
		}
		defer s.Close()
		if whole {
			head(s.Bytes(), string(b))
		} else {
			copy(s.Bytes(), b)
		}
		table, err := s.readTable()
		if err != nil {
			return
		}
		for name, e := range table.entries {
			size := float64(e.Kind.size())
			for _, n := range e.Shape {
				size *= float64(n)
			}
			if size != 0 && (e.Offset < headBytes+len(b) && whole || float64(e.Offset)+size > float64(len(s.Bytes()))) {
				t.Errorf("%+v of %g bytes was accepted in %d bytes", e, size, len(s.Bytes()))
			}
			for _, err := range []error{touch[uint8](s, name), touch[uint64](s, name), touch[float32](s, name)} {
				if err != nil && !strings.Contains(err.Error(), "is "+string(e.Kind)+", not") {
					t.Error(err)
				}
			}
		}
	})
}

// touch reads the first and the last element of an array.
func touch[T Element](s *Segment, name string) error {
	v, err := View[T](s, name)
	if len(v) > 0 {
		_ = v[0] + v[len(v)-1]
	}
	return err
}

// TestOverlay: the pages on which given elements lie are this mapping's own, and begin as copies; all others are the
// segment's, in both directions. The array begins and ends within pages.
func TestOverlay(t *testing.T) {
	checkLeaks(t)
	page := unix.Getpagesize() / 4 // elements
	n := 10*page + 100
	var l Layout
	l.Add("before", U8, 300)
	l.Add("weights", F32, n)
	l.Add("behind", U8, 300)
	s := create(t, &l)
	w := view[float32](t, s, "weights")
	at, err := s.Offset("weights")
	if err != nil {
		t.Fatal(err)
	}
	first := page - int(at)/4 // the first element of a page, not of the array
	for _, c := range []struct {
		what        string
		ranges, own [][2]int
	}{
		{"nothing", nil, nil},
		{"an empty range", [][2]int{{7, 7}}, nil},
		{"one element", [][2]int{{first + 5, first + 6}}, [][2]int{{first, first + page}}},
		{"a whole page", [][2]int{{first, first + page}}, [][2]int{{first, first + page}}},
		{"across pages", [][2]int{{first + page - 1, first + page + 1}}, [][2]int{{first, first + 2*page}}},
		{"both ends", [][2]int{{0, 1}, {n - 1, n}}, [][2]int{{0, first}, {first + 9*page, n}}},
		{"two on one page", [][2]int{{first, first + 1}, {first + 9, first + 10}}, [][2]int{{first, first + page}}},
		{"neighbouring pages", [][2]int{{first, first + 1}, {first + page, first + page + 1}},
			[][2]int{{first, first + 2*page}}},
		{"everything", [][2]int{{0, n}}, [][2]int{{0, n}}},
	} {
		for i := range w {
			w[i] = float32(i)
		}
		o, err := NewOverlay[float32](s, "weights", c.ranges)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if !slices.Equal(o.Own, c.own) || len(o.View) != n {
			t.Fatalf("%s: %d elements, own %v, want %d and %v", c.what, len(o.View), o.Own, n, c.own)
		}
		for i := range w {
			if o.View[i] != float32(i) {
				t.Fatalf("%s: element %d begins as %v", c.what, i, o.View[i])
			}
			w[i] = -1
			own := slices.ContainsFunc(c.own, func(r [2]int) bool { return r[0] <= i && i < r[1] })
			if seen := o.View[i] == -1; seen == own {
				t.Fatalf("%s: element %d: what the segment stores is seen: %t", c.what, i, seen)
			}
			o.View[i] = -2
			if seen := w[i] == -2; seen == own {
				t.Fatalf("%s: element %d: what is stored is in the segment: %t", c.what, i, seen)
			}
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewOverlay[float32](s, "other", nil); err == nil {
		t.Error("an overlay of no array")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewOverlay[float32](s, "weights", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed segment: %v", err)
	}
}
