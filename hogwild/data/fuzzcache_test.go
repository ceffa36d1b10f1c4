package data

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"hogwild/hogwild/data/text"
)

// forged returns a cache with checksums that fit, as far as its head can be read.
func forged(text []byte) []byte {
	from := len(cacheMagic)
	n := int(binary.LittleEndian.Uint32(text[from:]))
	if n > 1<<16-cacheHeadBytes {
		return text
	}
	head := text[cacheHeadBytes : cacheHeadBytes+n]
	var h cacheHead
	if json.Unmarshal(head, &h) == nil {
		for i, p := range h.Parts {
			if size := int64(len(text)); p.Offset >= 0 && p.Size > 0 && p.Offset <= size && p.Size <= size-p.Offset {
				h.Parts[i].CRC32C = crc32.Checksum(text[p.Offset:p.Offset+p.Size], crc32c())
			}
		}
		if again, _ := json.Marshal(h); len(again) <= 1<<16-cacheHeadBytes {
			n = copy(text[cacheHeadBytes:], again)
			head = text[cacheHeadBytes : cacheHeadBytes+n]
		}
	}
	binary.LittleEndian.PutUint32(text[from:], uint32(n))
	binary.LittleEndian.PutUint32(text[from+4:], crc32.Checksum(head, crc32c()))
	return text
}

// FuzzCache: a cache with other bytes somewhere, in the head or in the rows, and checksums that were made to fit.
func FuzzCache(f *testing.F) {
	var seeds [][]byte
	made := []Options{{Path: "digits:12"}, {Path: "synth:sparse:12x20x3"}, {Path: "synth:dense:12x4"},
		{Path: "synth:lowrank:4x5x30x2"}, {Path: "synth:dblife:0.001"},
		{Path: corpusFile(f, "a.txt", "a b\nb c a\n"), Task: text.Words, Text: words(1)},
		{Path: corpusFile(f, "b.txt", reviews), Task: text.Labels, Text: byLabels(2)}}
	for i, o := range made {
		o.Seed, o.Limit = 1, 12
		text, err := os.ReadFile(converted(f, o))
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, text)
		for _, at := range []int{0, 17, 30, 60, 65536, 65548, 65560, 65700, 66000, 66500, 67000, len(text) - 40} {
			f.Add(byte(i), uint32(at), []byte{0xff, 0xff, 0xff, 0x7f})
			f.Add(byte(i), uint32(at), []byte("9"))
		}
	}
	f.Setenv("XDG_CACHE_HOME", "") // nothing is remembered
	f.Setenv("HOME", "")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which byte, at uint32, patch []byte) {
		seed := seeds[int(which)%len(seeds)]
		text := append(make([]byte, 0, len(seed)), seed...)
		copy(text[int(at)%len(text):], patch)
		tree(t, dir, map[string]string{"set.hog": string(forged(text))})
		o := made[int(which)%len(made)]
		o.Path = filepath.Join(dir, "set.hog")
		loadAny(t, o)
	})
}
