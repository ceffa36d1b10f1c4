package data

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// tooMany is one row more than there are numbers for.
const tooMany = 1 << 31

// hollow returns a file of size bytes that begins with head; nothing else of it is on the disk.
func hollow(t *testing.T, name, head string, size int64) string {
	path := file(t, "", name, head)
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// mapped returns a file as a conversion has it: not in memory.
func mapped(t *testing.T, path string) *source {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(text) })
	return &source{Source: &format.Source{Path: path, Text: text}}
}

// npyHead returns the header of an array of rows x columns bytes.
func npyHead(rows, columns int) string {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }\n", rows, columns)
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(head)))) + head
}

// hollowCache writes a cache of one byte a row, all zero, with a description and arrays that agree.
func hollowCache(t *testing.T, rows int) string {
	meta, _ := json.Marshal(Meta{Name: "hollow", Rows: rows, Features: 1, Kind: Bytes})
	const room = 4096 // for the table
	end := room
	var entries []map[string]any
	for _, a := range []struct {
		name, kind  string
		n, elements int
	}{{"meta", "u8", len(meta), 1}, {"x8", "u8", rows, 1}, {"y", "f32", rows, 4}, {"freq", "f32", 1, 4},
		{"mean", "f32", 1, 4}, {"m", "f32", rows, 4}} {
		shape := []int{a.n}
		entries = append(entries, map[string]any{"name": a.name, "kind": a.kind, "shape": shape, "offset": end})
		end += (a.n*a.elements + 127) / 128 * 128
	}
	table, _ := json.Marshal(entries)
	segment := append([]byte("hogwild\n"), 1, 0, 0, 0)
	segment = binary.LittleEndian.AppendUint32(segment, uint32(len(table)))
	segment = binary.LittleEndian.AppendUint64(segment, crc64.Checksum(table, crc64.MakeTable(crc64.ECMA)))
	segment = append(append(segment, table...), make([]byte, room)...)[:room]

	const at = 1 << 16
	text, _ := json.Marshal(cacheHead{Made: recipe{Path: "x"},
		Parts: []cachePart{{trainPart, at, int64(end), 0}, {testPart, at, int64(end), 0}}})
	head := binary.LittleEndian.AppendUint32([]byte(cacheMagic), uint32(len(text)))
	head = append(binary.LittleEndian.AppendUint32(head, crc32.Checksum(text, crc32c())), text...)
	head = append(head, make([]byte, at-len(head))...)
	return hollow(t, "hollow.hog", string(head)+string(segment)+string(meta), int64(at+end))
}

// TestTooManyRows: a set with more rows, or features, than have numbers is refused whatever it comes from, before there
// is memory for it.
func TestTooManyRows(t *testing.T) {
	ignore := func(_ any, err error) error { return err }
	dims := string(binary.BigEndian.AppendUint32(nil, tooMany)) + "\x00\x00\x00\x01"
	images := hollow(t, "images", "\x00\x00\x08\x02"+dims, 12+tooMany)
	array := hollow(t, "X.npy", npyHead(tooMany, 1), int64(len(npyHead(tooMany, 1))+tooMany))
	triples := hollow(t, "r.npy", npyHead(tooMany, 3), int64(len(npyHead(tooMany, 3))+3*tooMany))
	cache := hollowCache(t, tooMany)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	wide := "synth:lowrank:1147483648x1000000000x10x1"
	out := filepath.Join(t.TempDir(), "out.hog")
	convert := func(path string) error {
		return ignore(Convert(context.Background(), Options{Path: path, Seed: 1}, out, anyRows, silent))
	}
	const rows, features = "2,147,483,648 rows: a set has at most 2,147,483,647",
		"2,147,483,648 features (of a matrix: rows and columns): a set has at most"
	for name, c := range map[string]struct {
		do   func() error
		says []string
	}{
		"idx": {func() error { return ignore(decode(mapped(t, images), Options{Format: "idx"}, nil)) },
			[]string{images, rows, "split it"}},
		"npy": {func() error { return ignore(decode(mapped(t, array), Options{Format: "npy"}, nil)) },
			[]string{array, rows}},
		"ratings": {func() error {
			_, _, err := readEntries(mapped(t, triples), Options{}, nil)
			return err
		},
			[]string{triples, rows}},
		"rows of a table": {func() error { return (&table{path: "x.csv"}).takeRows(tooMany, 1) },
			[]string{"x.csv", rows}},
		"a program's rows": {func() error { return ignore(LoadIndices(tooMany, 1, 5, 1, 0)) },
			[]string{"program", rows}},
		"a program's tests": {func() error { return ignore(LoadIndices(1, tooMany, 5, 1, 0)) },
			[]string{"program", rows}},
		"a cache": {func() error { return ignore(LoadSets(Options{Path: cache})) },
			[]string{cache, "the train rows", rows}},
		"a cache, described": {func() error { return ignore(Describe(Options{Path: cache})) }, []string{cache, rows}},
		"a cache, checked":   {func() error { return CheckCache(cache, nil) }, []string{cache, rows}},
		"a matrix": {func() error { return ignore(LoadSets(Options{Path: wide})) },
			[]string{wide, features, "choose fewer"}},
		"a matrix, described": {func() error { return ignore(Describe(Options{Path: wide})) },
			[]string{wide, features}},
		"a matrix, converted": {func() error { return convert(wide) }, []string{wide, features}},
		"what a set is": {func() error {
			return ignore(create(Meta{Name: "it", Rows: 1, Features: tooMany, Kind: Floats}, 0, nil))
		},
			[]string{"it", features}},
		"what a matrix is made from": {func() error {
			return convert(
				"synth:lowrank:1000000000x1000000000x10x2000000000")
		},
			[]string{"what its rows are made from needs", "the limit is", "choose fewer rows and columns"}},
		"made entries": {func() error { return ignore(LoadSets(Options{Path: "synth:lowrank:9x9x2147483648x1"})) },
			[]string{`"2147483648" is not a whole number from 1 to 2,147,483,647`}},
	} {
		t.Run(name, func(t *testing.T) { check.Bounded(t, 8<<20, func() { check.Error(t, c.do(), c.says...) }) })
	}
}
