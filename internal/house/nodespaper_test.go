package house

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// roundCost is the seconds of a sum of size bytes over n nodes: 2 ceil(log2 n) a + 2 (n-1)/n size/B,
// with a link of bits per second and the time latency that one message takes.
func roundCost(n int, size, bits, latency float64) float64 {
	return 2*math.Ceil(math.Log2(float64(n)))*latency + 2*float64(n-1)/float64(n)*8*size/bits
}

// shortTime is a time with two digits.
func shortTime(seconds float64) string {
	digits := func(v float64) string {
		if v >= 9.95 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.1f", v)
	}
	switch {
	case seconds < 0.9995e-3:
		return digits(seconds*1e6) + " us"
	case seconds < 0.9995:
		return digits(seconds*1e3) + " ms"
	}
	return digits(seconds) + " s"
}

// nodesPaper is the table: a round's time for 2 to 1,000 nodes, and how often one may be with 1,000 if a fifth of
// the time is for communication.
func nodesPaper() string {
	var b strings.Builder
	b.WriteString("| link | weights | 2 nodes | 4 | 16 | 128 | 1,000 | 1,000: a round every " +
		"|\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, link := range []struct{ gbit, us float64 }{{1, 50}, {10, 20}, {100, 5}} {
		for _, weights := range []struct {
			name  string
			count float64
		}{{"101,770 (mlp:128)", 101770}, {"10 M", 1e7}, {"1 G", 1e9}} {
			fmt.Fprintf(&b, "| %g Gbit/s | %s |", link.gbit, weights.name)
			var last float64
			for _, n := range []int{2, 4, 16, 128, 1000} {
				last = roundCost(n, 4*weights.count, link.gbit*1e9, link.us*1e-6)
				fmt.Fprintf(&b, " %s |", shortTime(last))
			}
			fmt.Fprintf(&b, " %s |\n", shortTime(5*last))
		}
	}
	return b.String()
}

// TestPaperTable: the table of docs/results/nodes.md is what the formula gives.
func TestPaperTable(t *testing.T) {
	inRoot(t)
	// 1.5 x 407,080 x 8 bits / 100 Mbit/s, by hand
	if got := roundCost(4, 407080, 100e6, 0); math.Abs(got-0.0488496) > 1e-9 {
		t.Errorf("a round of mlp:128 on four nodes at 100 Mbit/s takes %v s", got)
	}
	page, err := os.ReadFile("docs/results/nodes.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n"+nodesPaper()) {
		t.Errorf("docs/results/nodes.md lacks this table:\n%s", nodesPaper())
	}
}
