package cpu

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// BenchmarkBlocks measures what a worker trains in a second of processor time, in an epoch behind the first, by turns
// in async and in blocks of several grids, the most of each; and what share of that the copies of blocks take.
// HOGWILD_TEST_BLOCKS names other data.
func BenchmarkBlocks(b *testing.B) {
	path := "synth:netflix:0.05"
	if p := os.Getenv("HOGWILD_TEST_BLOCKS"); p != "" {
		path = p
	}
	modes := []string{"async", "blocks", "blocks:4", "blocks:16", "blocks:32"}
	for _, k := range []int{10, 32} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			best, copies := make([]float64, len(modes)), make([]float64, len(modes))
			var devices []*cpu
			for _, mode := range modes {
				devices = append(devices, trainer(b, path, mode, k))
			}
			for b.Loop() {
				for i, d := range devices {
					began := processorTime()
					for j := range d.plan.Chunks() {
						if _, err := d.Train([]plan.Chunk{d.plan.At(1, j)}); err != nil {
							b.Fatal(err)
						}
					}
					trained := processorTime()
					best[i] = max(best[i], float64(d.plan.N)/(trained-began)/1e6)
					for j := 0; d.blocks != nil && j < d.plan.Chunks(); j++ {
						d.blocks.keep(d.plan.At(1, j), &d.own)
					}
					copies[i] = 100 * (processorTime() - trained) / (trained - began)
				}
			}
			for i, mode := range modes {
				b.ReportMetric(best[i], mode+"-M/s")
				b.ReportMetric(copies[i], mode+"-copies-%")
			}
		})
	}
}

// trainer returns a device of one worker that trains the entries of a matrix.
func trainer(t testing.TB, path, mode string, k int) *cpu {
	t.Helper()
	c := config.Default()
	c.Data, c.Model, c.Mode = path, fmt.Sprintf("factor:%d", k), config.MustMode(mode)
	c.Workers, c.Batch, c.LR = 1, 1, 1e-3
	sets, err := data.LoadSets(data.Options{Path: path, Task: "triples", Seed: 1, Grid: c.Mode.Grid})
	if err != nil {
		t.Fatal(err)
	}
	job := tuning.AsAsked(c)
	n := sets.Train.Features*k + 1
	m, err := control.CreateWeights(job, n)
	if err != nil {
		t.Fatal(err)
	}
	s, err := device.NewSetup(job, m, sets.Train)
	if err != nil {
		t.Fatal(err)
	}
	s.Model.Init(m.W, 1)
	t.Cleanup(func() { m.Seg.Close(); sets.Close() })
	return newCPU(s, 0)
}

// processorTime returns the processor time of this thread, in seconds.
func processorTime() float64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return float64(t.Nano()) / 1e9
}
