package format

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// inflateBoth unpacks by both, and fails where unzip takes what compress/gzip does not, or as something else.
func inflateBoth(t testing.TB, packed []byte, room int) bool {
	t.Helper()
	out := make([]byte, room+spareOut)
	n, ok := unzip(append(bytes.Clone(packed), make([]byte, spareIn)...), out)
	if !ok {
		return false
	}
	var want []byte
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		want, err = io.ReadAll(z)
	}
	if err != nil || !bytes.Equal(out[:n], want) {
		t.Fatalf("unzip takes %d bytes as %d, compress/gzip as %d: %v", len(packed), n, len(want), err)
	}
	return true
}

func packedAt(t testing.TB, level int, name string, text []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	z.Name = name
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// textsToPack are numbers, words, noise, long repetitions and codes of very different lengths.
func textsToPack() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	of := func(n int, next func(i int) string) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < n; i++ {
			b.WriteString(next(i))
		}
		return b.Bytes()
	}
	return map[string][]byte{
		"one":     {'a'},
		"short":   []byte("1,2\n"),
		"numbers": of(300_000, func(int) string { return fmt.Sprintf("%d:%.4f ", rng.IntN(5000), rng.Float64()) }),
		"noise":   of(200_000, func(int) string { return string([]byte{byte(rng.Uint32())}) }),
		"same":    make([]byte, 100_000),
		"periods": of(100_000, func(i int) string { return "abcdefghijklmnop"[:1+i/3000%16] }),
		"skewed": of(400_000, func(int) string { // byte k half as often as byte k-1
			return string([]byte{byte(min(rng.ExpFloat64()*1.4, 200)) * 7})
		}),
		"images": of(300_000, func(i int) string {
			if i%40 < 30 {
				return "\x00"
			}
			return string([]byte{byte(rng.Uint32() | 0x80)})
		}),
	}
}

func TestInflate(t *testing.T) {
	for name, text := range textsToPack() {
		for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, 1, 6, 9} {
			packed := packedAt(t, level, []string{"", "a.csv"}[level&1], text)
			if !inflateBoth(t, packed, len(text)) {
				t.Errorf("%s at level %d is left to compress/gzip", name, level)
			}
			if len(text) > 1000 && inflateBoth(t, packed, len(text)/2) {
				t.Errorf("%s at level %d fits in half of its bytes", name, level)
			}
			for _, n := range []int{1, 8, 9, len(packed) / 2} {
				if inflateBoth(t, packed[:max(0, len(packed)-n)], len(text)) {
					t.Errorf("%s at level %d without %d bytes is complete", name, level, n)
				}
			}
			if inflateBoth(t, append(packed, packed...), 2*len(text)) {
				t.Errorf("%s at level %d, twice, is one part", name, level)
			}
		}
	}
}

// TestInflateDamaged changes bits anywhere: what comes of it is an error of both, never a panic or other bytes.
func TestInflateDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, text := range textsToPack() {
		text = text[:min(len(text), 5000)]
		for _, level := range []int{gzip.HuffmanOnly, 1, 9} {
			packed := packedAt(t, level, "", text)
			for range 2000 {
				bad := bytes.Clone(packed)
				for range 1 + rng.IntN(3) {
					bad[rng.IntN(min(len(bad), []int{80, len(bad)}[rng.IntN(2)]))] ^= 1 << rng.IntN(8)
				}
				inflateBoth(t, bad, len(text))
			}
		}
	}
}

func FuzzInflate(f *testing.F) {
	for _, text := range textsToPack() {
		f.Add(packedAt(f, 6, "", text[:min(len(text), 3000)]))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if len(packed) < 4 {
			packed = append(packed, "\x1f\x8b\x08\x00"...)
		}
		inflateBoth(t, packed, 1<<16)
	})
}
