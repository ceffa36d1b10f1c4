package data

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// cacheAt reads the head of a cache.
func cacheAt(t testing.TB, path string) *cache {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c, err := readCache(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// damage changes bytes of a part of a cache, with checksums that fit: what somebody might do on purpose.
func damage(t testing.TB, path string, change func(s *Set, at func(v any) []byte)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := cacheAt(t, path)
	s, err := c.part(trainPart)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := c.find(trainPart)
	body := text[p.Offset : p.Offset+p.Size]
	change(s, func(v any) []byte {
		at := int(reflect.ValueOf(v).Pointer() - reflect.ValueOf(s.seg.Bytes()).Pointer())
		return body[at:]
	})
	p.CRC32C = crc32.Checksum(body, crc32c())
	head, _ := json.Marshal(c.cacheHead)
	copy(text, append([]byte(cacheMagic), make([]byte, 8)...))
	binary.LittleEndian.PutUint32(text[len(cacheMagic):], uint32(len(head)))
	binary.LittleEndian.PutUint32(text[len(cacheMagic)+4:], crc32.Checksum(head, crc32c()))
	copy(text[cacheHeadBytes:], head)
	os.Remove(path)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHostileCache: an index, an offset, a label or a node that a loop would follow out of an array is found
// at the first use, whatever the checksums say.
func TestHostileCache(t *testing.T) {
	put32 := func(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
	for name, c := range map[string]struct {
		path   string
		change func(s *Set, at func(v any) []byte)
		says   string
	}{
		"index": {"synth:sparse:30x50x5", func(s *Set, at func(v any) []byte) { put32(at(s.Idx[7:]), 50) },
			"beyond the features"},
		"order": {"synth:sparse:30x50x5", func(s *Set, at func(v any) []byte) { put32(at(s.Idx[6:]), 49) }, "ascend"},
		"offset": {"synth:sparse:30x50x5", func(s *Set, at func(v any) []byte) { put32(at(s.Ptr[3:]), 1<<31) },
			"ascend"},
		"class": {"synth:dense:30x5", func(s *Set, at func(v any) []byte) { put32(at(s.Y[3:]), math.Float32bits(7)) },
			"no class"},
		"half": {"synth:dense:30x5",
			func(s *Set, at func(v any) []byte) { put32(at(s.Y[3:]), math.Float32bits(.5)) }, "no class"},
		"NaN": {"synth:dense:30x5",
			func(s *Set, at func(v any) []byte) { put32(at(s.X[3:]), math.Float32bits(float32(math.NaN()))) },
			"finite"},
		"node": {"synth:lowrank:20x30x200x3", func(s *Set, at func(v any) []byte) { put32(at(s.Idx[8:]), 20) },
			"outside of the matrix"},
		"far": {"synth:lowrank:20x30x200x3", func(s *Set, at func(v any) []byte) { put32(at(s.Idx[9:]), 50) },
			"beyond the features"},
		"ids":     {"synth:lowrank:20x30x200x3", swapped(`"ids":[[0,20]`, `"ids":[[0,99]`), "ids"},
		"shape":   {"digits:30", swapped(`"shape":[28,28]`, `"shape":[28,56]`), "shape"},
		"rows":    {"digits:30", swapped(`"rows":30`, `"rows":31`), "not those of 31 rows"},
		"kind":    {"digits:30", swapped(`"kind":"bytes"`, `"kind":"pears"`), "pears"},
		"columns": {"synth:dense:30x5", swapped(`"features":5`, `"features":9`), "not those"},
	} {
		t.Run(name, func(t *testing.T) {
			path := converted(t, Options{Path: c.path, Seed: 1})
			damage(t, path, c.change)
			_, err := LoadSets(Options{Path: path, Seed: 1})
			check.Error(t, err, c.says, "again")
		})
	}
}

// swapped replaces a part of the description of a set by one of the same length.
func swapped(old, by string) func(s *Set, at func(v any) []byte) {
	return func(s *Set, at func(v any) []byte) {
		b := at(s.seg.Bytes())
		i := strings.Index(string(b), old)
		copy(b[i:], by)
	}
}

// TestTornCache: a cache that lost its end, or in which any byte of the head or a byte of the rows changed, is refused.
func TestTornCache(t *testing.T) {
	path := converted(t, Options{Path: "digits:30", Seed: 1})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, text []byte) {
		t.Helper()
		torn := file(t, "", "torn.hog", string(text))
		s, err := LoadSets(Options{Path: torn, Seed: 1})
		if err == nil {
			s.Close()
			t.Fatalf("%s: no error", what)
		}
		aboutFile(t, err, filepath.Dir(torn))
	}
	for _, n := range []int{20, 30, 300, 65535, 65536, 70000, len(whole) / 2, len(whole) - 1} {
		refused(fmt.Sprint("cut at ", n), whole[:n])
	}
	for at := range cacheHeadBytes + int(binary.LittleEndian.Uint32(whole[len(cacheMagic):])) {
		text := slices.Clone(whole)
		if text[at] ^= 0x40; at < len(format.CacheMark) { // it is no cache at all
			continue
		}
		refused(fmt.Sprint("byte ", at), text)
	}
	for _, at := range []int{65536, 65540, 65560, 66000, 70000, len(whole) - 200} {
		text := slices.Clone(whole)
		text[at] ^= 1
		refused(fmt.Sprint("byte ", at), text)
	}
}

// TestCachePromisesMore: a head that names validation rows, in a file without them, is an error.
func TestCachePromisesMore(t *testing.T) {
	path := converted(t, Options{Path: "digits:12", Seed: 1})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint32(text[len(cacheMagic):]))
	var h cacheHead
	if err := json.Unmarshal(text[cacheHeadBytes:cacheHeadBytes+n], &h); err != nil {
		t.Fatal(err)
	}
	h.Made.Validation = "0.1"
	head, _ := json.Marshal(h)
	binary.LittleEndian.PutUint32(text[len(cacheMagic):], uint32(copy(text[cacheHeadBytes:], head)))
	path = filepath.Join(t.TempDir(), "set.hog")
	if err := os.WriteFile(path, forged(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err = LoadSets(Options{Path: path, Validation: "0.1"}); err == nil ||
		!strings.Contains(err.Error(), "lacks validation rows") {
		t.Errorf("got %v", err)
	}
}
