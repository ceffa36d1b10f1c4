//go:build cuda

package cuda

import (
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func TestPick(t *testing.T) {
	const g = 1 << 30
	all := []candidate{{index: 0, free: 10 * g}, {index: 1, free: 40 * g}, {index: 2, free: 40 * g},
		{index: 3, not: "is in exclusive mode and taken"}, {index: 4, free: 3 * g / 2}}
	for _, c := range []struct {
		n     int
		least int64
		want  []int
		note  string // or error
	}{
		{1, 0, []int{1}, "gpu X: 1 (40.0 GiB free); 2 had 40.0 GiB, 0 had 10.0 GiB, 4 had 1.5 GiB, 3 is in exclusive " +
			"mode and taken: by free memory, as use is unknown"},
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
				all = append(all, candidate{index: i, free: n * g})
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

// TestChooseUse: of GPUs with the same memory the one on which others compute is taken last, whether NVML knows the
// utilization or the processes alone; with less memory than a run needs, an unused one is not taken.
func TestChooseUse(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=5") {
		return
	}
	gpu := playNVML(t)
	process := func() ([]nvml.ProcessInfo, nvml.Return) { return []nvml.ProcessInfo{{Pid: 71}}, nvml.SUCCESS }
	runs(gpu(0), 97, nvml.SUCCESS) // a program that NVML does not show, as of another container
	runs(gpu(1), 0, nvml.ERROR_NOT_SUPPORTED)
	gpu(1).GetComputeRunningProcessesFunc = process
	runs(gpu(2), 9, nvml.SUCCESS)
	gpu(2).GetComputeRunningProcessesFunc = process
	gpu(3).MemoryInfo.Free = 5 << 30
	runs(gpu(3), 9, nvml.SUCCESS)
	runs(gpu(4), 0, nvml.ERROR_NOT_SUPPORTED)
	gpu(4).MemoryInfo.Free = 4 << 30
	for _, c := range []struct {
		text  string
		least int64
		want  []int
		note  string
	}{
		{"auto", 0, []int{3}, "gpu auto: 3 (5.0 GiB free, 9% utilization, no processes); 4 had 4.0 GiB (no " +
			"processes), 2 had 78.0 GiB (9% utilization, 1 process), 0 had 78.0 GiB (97% utilization, no processes), " +
			"1 had 78.0 GiB (1 process): unused first, then by free memory"},
		{"auto:5", 0, []int{3, 4, 2, 0, 1}, "1 (78.0 GiB free, 1 process)"},
		{"auto", 6 << 30, []int{2}, "gpu auto: 2 (78.0 GiB free, 9% utilization, 1 process); 3 had"},
		{"0", 0, []int{0}, ""},
	} {
		if got, note, err := choose(c.text, c.least, 0, 0); err != nil || !slices.Equal(got, c.want) ||
			!strings.Contains(note, c.note) {
			t.Errorf("choose(%q, %d) = %v, %q, %v, want %v, %q", c.text, c.least, got, note, err, c.want, c.note)
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
