package bench

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLimits holds every figure to what must be true of it on any machine, and the
// JSON to the figures. How fast all cores are together it does not: where others use the
// machine meanwhile, threads that wait for each other in loops may be any slower.
func TestLimits(t *testing.T) {
	seconds := 2.0
	if testing.Short() {
		seconds = 0.2
	}
	f, err := Measure(seconds)
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]bool{}
	for _, v := range f.Limits {
		if !(v.Min <= v.Median && v.Median <= v.Max) || math.IsInf(v.Max, 0) || v.Min <= 0 {
			t.Errorf("%s on %d cores: %v, %v, %v are not the least, the median and the most", v.Name, v.Cores, v.Min,
				v.Median, v.Max)
		}
		if v.Means == "" || v.Unit == "" {
			t.Errorf("%s: no unit, or nothing of what it bounds", v.Name)
		}
		if v.Cores == 1 {
			one[v.Name] = true
		}
	}
	for _, name := range []string{"multiply-add", "memory, read", "w[j] += x at random, 47 k",
		"w[j] += x at random, 50 M"} {
		if !strings.Contains(strings.Join(slices.Collect(maps.Keys(one)), "\n"), name) {
			t.Errorf("no limit of %q on one core", name)
		}
	}
	var text, raw bytes.Buffer
	if err := f.WriteJSON(&raw); err != nil {
		t.Fatal(err)
	}
	var back Limits
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil || len(back.Limits) != len(f.Limits) ||
		back.Limits[0] != f.Limits[0] {
		t.Errorf("the JSON reads back as %+v (%v)", back, err)
	}
	if err := f.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != len(f.Limits)+4 {
		t.Errorf("%d limits take %d lines:\n%s", len(f.Limits), lines, text.String())
	}
}

// TestTogether: each of the cores takes the same turns, at the same time as the others, or they would wait for ever.
func TestTogether(t *testing.T) {
	const cores = 3
	var turns [cores][]int
	var all sync.WaitGroup
	all.Add(cores)
	d := together(cores, 5, 2, func(i, k int) {
		if k == 5 {
			all.Done()
			all.Wait()
		}
		turns[i] = append(turns[i], k)
		time.Sleep(time.Millisecond)
	})
	for i := range turns {
		if !slices.Equal(turns[i], []int{5, 6}) {
			t.Errorf("core %d took the turns %v, want 5 and 6", i, turns[i])
		}
	}
	if d < 2*time.Millisecond {
		t.Errorf("two turns of 1 ms took %v", d)
	}
}
