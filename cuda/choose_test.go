//go:build cuda

package cuda

import (
	"slices"
	"strings"
	"testing"
)

func TestPick(t *testing.T) {
	const g = 1 << 30
	all := []candidate{{0, 10 * g, ""}, {1, 40 * g, ""}, {2, 40 * g, ""}, {3, 0, "is in exclusive mode and taken"},
		{4, 3 * g / 2, ""}}
	for _, c := range []struct {
		n     int
		least int64
		want  []int
		note  string // or error
	}{
		{1, 0, []int{1}, "gpu X: 1 (40.0 GiB free); 2 had 40.0 GiB, 0 had 10.0 GiB, 4 had 1.5 GiB, 3 is in exclusive " +
			"mode and taken"},
		{2, 4 * g, []int{1, 2}, "gpu X: 1 (40.0 GiB free), 2 (40.0 GiB free); 0 had"},
		{3, 4 * g, []int{1, 2, 0}, "0 (10.0 GiB free); 4 had 1.5 GiB"},
		{4, 4 * g, nil, "gpu X: 3 of 5 GPUs can be used, with 4.0 GiB of memory free: 1 (40.0 GiB free)"},
		{5, 0, nil, "gpu X: 4 of 5 GPUs can be used"}, {6, 0, nil, "ask for 5 at most"},
		{1, 41 * g, nil, "gpu X: 0 of 5 GPUs can be used, with 41.0 GiB of memory free: 1 had 40.0 GiB"},
	} {
		got, note, err := pick("X", all, c.n, c.least)
		if err != nil {
			note = err.Error()
		}
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) || !strings.Contains(note, c.note) {
			t.Errorf("%d GPUs with %d bytes: %v, %q, want %v, %q", c.n, c.least, got, note, c.want, c.note)
		}
	}
}

// TestDeal: nodes on one host choose different GPUs, whatever the others have taken of their memory; where there are
// too few, that with the most free memory.
func TestDeal(t *testing.T) {
	const g = 1 << 30
	for _, c := range []struct {
		free  []int64 // GiB
		n     int
		nodes int
		want  [][]int // by node
	}{
		{[]int64{80, 80}, 1, 1, [][]int{{0}}}, {[]int64{80, 80}, 1, 2, [][]int{{0}, {1}}},
		{[]int64{70, 80}, 1, 2, [][]int{{0}, {1}}},
		{[]int64{70, 1, 80}, 1, 2, [][]int{{0}, {2}}}, {[]int64{70, 1, 80}, 1, 3, [][]int{{2}, {2}, {2}}},
		{[]int64{70, 75, 80, 78, 60}, 1, 2, [][]int{{2}, {3}}},
		{[]int64{70, 75, 80, 78, 60}, 2, 2, [][]int{{2, 0}, {3, 1}}},
	} {
		for node, want := range c.want {
			var all []candidate
			for i, n := range c.free {
				all = append(all, candidate{i, n * g, ""})
			}
			deal(all, c.n, 4*g, node, c.nodes)
			if got, note, err := pick("auto", all, c.n, 4*g); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v GiB free, node %d of %d: %v, %v (%s), want %v", c.free, node, c.nodes, got,
					err, note, want)
			}
		}
	}
}

// TestChoose: CUDA shows five of the eight GPUs that NVML knows, in another order.
func TestChoose(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=8", "CUDA_VISIBLE_DEVICES=6,5,1,3,0") {
		return
	}
	gpu := playNVML(t)
	for i, free := range []uint64{1, 20, 60, 20, 3} { // GiB
		gpu(i).MemoryInfo.Free = free << 30
	}
	for _, c := range []struct {
		text  string
		least int64
		want  []int
	}{
		{"0", 1 << 50, []int{0}}, {"4,2", 0, []int{4, 2}}, // named ones are not compared
		{"auto", 0, []int{2}}, {"auto:2", 0, []int{2, 1}}, {"auto:4", 0, []int{2, 1, 3, 4}},
		{"auto:3", 4 << 30, []int{2, 1, 3}}, {"auto:4", 4 << 30, nil}, {"auto:6", 0, nil}, {"best", 0, nil},
	} {
		got, note, err := choose(c.text, c.least, 0, 0)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("choose(%q, %d) = %v, %v, want %v", c.text, c.least, got, err, c.want)
		}
		if chosen := strings.HasPrefix(c.text, "auto") && err == nil; chosen != (note != "") {
			t.Errorf("choose(%q, %d) says %q", c.text, c.least, note)
		}
	}
}

// TestChooseExclusive: in exclusive mode a GPU takes one process, and a run has several,
// whatever NVML says of its memory.
func TestChooseExclusive(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_EXCLUSIVE=choose", "HOGWILD_FAKE_DEVICES=2") {
		return
	}
	playNVML(t)
	if got, _, err := choose("auto", 0, 0, 0); err == nil ||
		!strings.Contains(err.Error(), "0 is in exclusive mode, which allows a single process") {
		t.Errorf("chose %v, %v", got, err)
	}
}
