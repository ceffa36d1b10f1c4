package data

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"testing"

	"hogwild/hogwild/data/format"
)

func digits(t *testing.T, path string, seed uint64, test bool) *table {
	t.Helper()
	tab, err := drawDigits(&format.Source{Path: path}, seed, test)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestDigits(t *testing.T) {
	tab := digits(t, "digits:6000", 1, false)
	of := map[float64]int{}
	zeros := bytes.Count(tab.x8, []byte{0})
	for i, label := range tab.label {
		of[label]++
		image := tab.x8[i*digitsPixels : (i+1)*digitsPixels]
		if inked := digitsPixels - bytes.Count(image, []byte{0}); inked < 25 {
			t.Errorf("image %d, a %g, has %d inked pixels", i, label, inked)
		}
	}
	for label, n := range of {
		if n != 600 {
			t.Errorf("%d images of %g, want 600", n, label)
		}
	}
	if share := float64(zeros) / float64(len(tab.x8)); share < 0.7 || share > 0.85 {
		t.Errorf("%.0f%% of the pixels are zero", 100*share)
	}
	if n := digits(t, "digits:6000", 1, true).Rows; n != 1000 {
		t.Errorf("%d test rows, want 1000", n)
	}
}

// The images depend on the seed and the part, not on the number of processors.
func TestDigitsAreDeterministic(t *testing.T) {
	a := digits(t, "digits:300", 1, false)
	one := runtime.GOMAXPROCS(1)
	b := digits(t, "digits:300:1", 9, false)
	runtime.GOMAXPROCS(one)
	if !bytes.Equal(a.x8, b.x8) || a.Checksum != b.Checksum {
		t.Error("the same seed draws other images")
	}
	for name, other := range map[string]*table{
		"seed": digits(t, "digits:300", 2, false), "part": digits(t, "digits:1800", 1, true),
	} {
		if bytes.Equal(a.x8, other.x8) || a.Checksum == other.Checksum {
			t.Errorf("another %s draws the same images", name)
		}
	}
}

// The images are those that amd64 draws, on every processor: the checksum is of its pixels.
func TestDigitsAreTheSameEverywhere(t *testing.T) {
	const want = "8524948f46aad492b70142ceb3dcebe847683ca11b81105bbe111d25cf8d2ff8"
	if got := fmt.Sprintf("%x", sha256.Sum256(digits(t, "digits:10000", 1, false).x8)); got != want {
		t.Errorf("the pixels' checksum is %s, want %s", got, want)
	}
}

// The digits are as hard as they should be: the nearest class mean, a linear
// classifier, is right far more often than chance and far from always; the nearest
// neighbour is better.
func TestDigitsAreHard(t *testing.T) {
	train, test := digits(t, "digits:3000", 1, false), digits(t, "digits:1200", 1, true)
	var mean [10][digitsPixels]float64
	for i, label := range train.label {
		for j, v := range train.x8[i*digitsPixels : (i+1)*digitsPixels] {
			mean[int(label)][j] += float64(v) / float64(train.Rows/10)
		}
	}
	byMean, byNeighbour := 0, 0
	for i, label := range test.label {
		x := test.x8[i*digitsPixels : (i+1)*digitsPixels]
		best, nearest := 1e18, 0
		for k := range mean {
			if d := distance(x, func(j int) float64 { return mean[k][j] }); d < best {
				best, nearest = d, k
			}
		}
		if float64(nearest) == label {
			byMean++
		}
		best, nearest = 1e18, 0
		for k := range train.Rows {
			if d := distance(x, func(j int) float64 { return float64(train.x8[k*digitsPixels+j]) }); d < best {
				best, nearest = d, k
			}
		}
		if train.label[nearest] == label {
			byNeighbour++
		}
	}
	linear, neighbour := float64(byMean)/float64(test.Rows), float64(byNeighbour)/float64(test.Rows)
	if linear < 0.5 || linear > 0.9 || neighbour < linear+0.05 {
		t.Errorf("right by class mean: %.3f (want 0.5 to 0.9), by nearest neighbour: %.3f (want more)",
			linear, neighbour)
	}
}

func distance(x []uint8, to func(j int) float64) float64 {
	d := 0.0
	for j, v := range x {
		d += (float64(v) - to(j)) * (float64(v) - to(j))
	}
	return d
}

func BenchmarkDigits(b *testing.B) {
	for b.Loop() {
		if _, err := drawDigits(&format.Source{Path: "digits:2000"}, 1, false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/2000, "µs/image")
}
