package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"hogwild/hogwild/data/format"
)

const (
	digitsTrain = 60000
	digitsShare = 6 // training rows for each test row
)

// isDigits says whether a path names the generator: digits, digits:N (training
// rows) or digits:N:SEED. A file of that name is ./digits.
func isDigits(path string) bool {
	return path == "digits" || strings.HasPrefix(path, "digits:")
}

// drawDigits makes images of handwritten digits, each pixel a byte (0 is paper): N
// for training, or N/6 for testing. Every class is there equally often, in an order
// drawn from the seed. An image depends on the seed and on its number alone.
func drawDigits(src *format.Source, seed uint64, test bool) (*table, error) {
	n, seed, err := parseDigits(src.Path, seed)
	if err != nil {
		return nil, err
	}
	name, first := fmt.Sprintf("digits %d %d train", n, seed), 0
	if test {
		name, first = fmt.Sprintf("digits %d %d test", n, seed), 1<<32
		n = max(1, n/digitsShare)
	}
	sum := sha256.Sum256([]byte(name))
	t := newTable(src, "digits", Bytes)
	t.Rows, t.Features, t.Shape, t.Classes = n, digitsPixels, []int{digitsSide, digitsSide}, format.Numbered(10)
	t.Seed, t.Checksum = seed, hex.EncodeToString(sum[:])
	if err := t.takeRows(n, digitsPixels+12); err != nil {
		return nil, err
	}
	t.x8, t.label = format.Array[uint8](t.budget, n*digitsPixels, &err), format.Array[float64](t.budget, n, &err)
	if err != nil {
		return nil, err
	}
	t.x8, t.label = t.x8[:n*digitsPixels], t.label[:n]
	order := make([]int32, n)
	Order{Seed: seed, N: n}.Fill(order, first, 0)
	for i, v := range order {
		t.label[i] = float64(v % 10)
	}
	parallel(0, n, func(from, to int) {
		p := newPen(seed)
		for i := from; i < to; i++ {
			p.draw(t.x8[i*digitsPixels:(i+1)*digitsPixels], int(t.label[i]), uint64(first+i))
		}
	})
	return t, nil
}

func parseDigits(path string, seed uint64) (n int, s uint64, err error) {
	fields := strings.Split(path, ":")
	n = digitsTrain
	if len(fields) > 1 {
		n, err = strconv.Atoi(fields[1])
	}
	if len(fields) > 2 && err == nil {
		seed, err = strconv.ParseUint(fields[2], 10, 64)
	}
	if err != nil || n < 1 || n > 100_000_000 || len(fields) > 3 {
		return 0, 0, fmt.Errorf("data: %q: want digits, digits:N with N training rows (1 to 100,000,000), or "+
			"digits:N:SEED", path)
	}
	return n, seed, nil
}
