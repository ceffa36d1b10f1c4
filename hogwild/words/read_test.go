package words

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// packed writes a file of some bytes, packed by gzip.
func packed(t *testing.T, head string, times int, row string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	fmt.Fprint(w, head)
	for range times {
		fmt.Fprint(w, row)
	}
	path := filepath.Join(t.TempDir(), "v.vec.gz")
	if err := errors.Join(w.Close(), os.WriteFile(path, out.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVectorsTakeWhatTheyMay: a small file that unpacks to a large one ends at the limit, and so does a line that does
// not end.
func TestVectorsTakeWhatTheyMay(t *testing.T) {
	budget := func() *format.Budget { return format.NewBudget(8 << 20) }
	_, err := read(packed(t, "8000 1000\n", 8000, "w"+strings.Repeat(" 0", 1000)+"\n"), budget())
	if full := (*format.MemoryError)(nil); !errors.As(err, &full) {
		t.Errorf("%v, want that it needs more memory", err)
	}
	_, err = read(packed(t, "8000 10000\n", 8000, "w"+strings.Repeat(" 0", 10000)+"\n"), nil)
	check.Error(t, err, "unpacks to more than 16 times its size")
	zeros := strings.Repeat("0", 1<<20)
	for _, head := range []string{"", "2 2\n", "2 2\nw ", "2 2\nw 1 1\nv "} {
		_, err := read(packed(t, head, 17, zeros), budget())
		check.Error(t, err, "more than")
	}
}

// TestFirstWords: what the first word is, and how long, does not change how the file is read.
func TestFirstWords(t *testing.T) {
	for _, word := range []string{"w", "a\u2009b", "1", strings.Repeat("long", 2000)} {
		for k := 1; k < 4; k++ {
			for _, kind := range []string{"text", "fastText", "bytes"} {
				var out bytes.Buffer
				fmt.Fprintf(&out, "2 %d\n", k)
				for i, w := range []string{word, "v"} {
					fmt.Fprint(&out, w)
					if kind == "bytes" {
						out.WriteString(" ")
					}
					for j := range k {
						x := float32(i) + .25*float32(j)
						if kind != "bytes" {
							fmt.Fprintf(&out, " %g", x)
							continue
						}
						bits := math.Float32bits(x)
						out.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
					}
					if kind == "fastText" {
						out.WriteString(" ")
					}
					out.WriteString("\n")
				}
				path := filepath.Join(t.TempDir(), "v")
				if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
				v, err := read(path, nil)
				if err != nil || v.Words[0] != word || v.Words[1] != "v" || v.W[k] != 1 ||
					v.W[2*k-1] != 1+.25*float32(k-1) {
					t.Errorf("%.9q, %d numbers as %s: %v", word, k, kind, err)
				}
			}
		}
	}
}
