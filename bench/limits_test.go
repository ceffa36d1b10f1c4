package bench

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
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
	f, err := Measure(Options{Seconds: seconds, Idle: []string{"-test.run=^$"}})
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]bool{}
	for _, v := range f.Limits {
		lost := v.Unit == "%"
		if !(v.Min <= v.Median && v.Median <= v.Max) || math.IsInf(v.Max, 0) || !lost && v.Min <= 0 {
			t.Errorf("%s on %d cores: %v, %v, %v are not the least, the median and the most", v.Name, v.Cores, v.Min, v.Median, v.Max)
		}
		if lost && (v.Min < 0 || v.Max >= 100) {
			t.Errorf("%s: from %v to %v %% of the updates", v.Name, v.Min, v.Max)
		}
		if v.Means == "" || v.Unit == "" {
			t.Errorf("%s: no unit, or nothing of what it bounds", v.Name)
		}
		if v.Cores == 1 {
			one[v.Name] = true
		}
	}
	for _, name := range []string{"multiply-add", "memory, read", "memory, copy", "w[j] += x", "w[0] += 1", "process"} {
		if !strings.Contains(strings.Join(slices.Collect(maps.Keys(one)), "\n"), name) {
			t.Errorf("no limit of %q on one core", name)
		}
	}
	var text, raw bytes.Buffer
	if err := f.WriteJSON(&raw); err != nil {
		t.Fatal(err)
	}
	var back Limits
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil || len(back.Limits) != len(f.Limits) || back.Limits[0] != f.Limits[0] {
		t.Errorf("the JSON reads back as %+v (%v)", back, err)
	}
	if err := f.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines > len(f.Limits)+3 {
		t.Errorf("%d limits take %d lines:\n%s", len(f.Limits), lines, text.String())
	}
}

// TestCrew: its members really run at the same time, and each on one core.
func TestCrew(t *testing.T) {
	c, err := newPinnedThreads()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	all := make([]int, len(c.cores))
	for i := range all {
		all[i] = i
	}
	calls := make([]int, len(all))
	d := c.run(all, func(i int) { calls[i]++; time.Sleep(time.Millisecond) })
	for i, n := range calls {
		if n != 1 {
			t.Errorf("member %d ran %d times", i, n)
		}
	}
	if d < time.Millisecond {
		t.Errorf("a run of 1 ms took %v", d)
	}
}

func TestProgramThatFails(t *testing.T) {
	m := &meter{}
	if err := m.start([]string{"-test.nonsense"}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a program that fails: %v", err)
	}
}
