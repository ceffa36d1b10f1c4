package format

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hogwild/internal/check"
)

func TestPieces(t *testing.T) {
	before := pieceBytes
	pieceBytes = 64
	defer func() { pieceBytes = before }()
	rng, b := rand.New(rand.NewPCG(1, 2)), &strings.Builder{}
	for range 3000 {
		b.WriteString([]string{"a", "some", "longer-word", " ", " ", " ", "\n"}[rng.IntN(7)])
	}
	all := strings.Repeat("word ", 100) + b.String() // a line that is longer than a piece
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(all))
	_ = z.Close()
	for name, text := range map[string]string{"plain": all, "packed": packed.String(), "marked": "\ufeff" + all} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		whole, err := Read(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, procs := range []int{1, 2, 7} {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var got []byte
			skipped := len(text) - len(all)
			s, err := Pieces(path, nil, func(p *Piece) { p.IDs = append(p.IDs[:0], uint32(len(p.Text))) },
				func(p *Piece) error {
					at := int(p.At)
					if name == "marked" {
						at -= skipped
					}
					if at != len(got) || p.IDs[0] != uint32(len(p.Text)) || len(p.Text) > pieceBytes {
						t.Errorf("%s: a piece of %d bytes at %d, behind %d", name, len(p.Text), p.At, len(got))
					}
					got = append(got, p.Text...)
					if c := got[len(got)-1]; len(got) < len(all) && c != ' ' && c != '\n' {
						t.Errorf("%s: a word is cut: %q", name, p.Text)
					}
					return nil
				})
			if err != nil || string(got) != all {
				t.Fatalf("%s: %d of %d bytes, %v", name, len(got), len(all), err)
			}
			if s.Checksum() != whole.Checksum() {
				t.Errorf("%s: checksum %s, want %s", name, s.Checksum(), whole.Checksum())
			}
		}
	}
	stop, n := errors.New("enough"), 0
	_, err := Pieces(filepath.Join(dir, "plain"), nil, func(*Piece) {}, func(*Piece) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("%d pieces, %v", n, err)
	}
	for text, words := range map[string]string{strings.Repeat("x", 65): "without a blank", "": "empty",
		"\x00\x01\x02": "binary", packed.String()[:packed.Len()/2]: "gzip", "PAR1": "Parquet"} {
		path := filepath.Join(dir, "wrong")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Pieces(path, nil, func(*Piece) {}, func(*Piece) error { return nil })
		check.Error(t, err, words, path)
	}
}
