//go:build cuda

package cuda

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// BenchmarkHost measures what a worker's host does for a row of a large set, without the driver's calls: it claims
// chunks, lists them in launches, and takes in their results.
func BenchmarkHost(b *testing.B) {
	const rows = 20_000_000
	for _, schedule := range []config.Schedule{"constant", "cosine", "exp"} {
		b.Run(string(schedule), func(b *testing.B) {
			c := config.Default()
			c.GPU, c.Workers, c.Schedule, c.LR, c.Decay, c.Epochs, c.Batch = "0", 1, schedule, .01, .9, 4, 1
			job := tuning.Job{Asked: c}
			job.Used.Batch = 1
			block, err := control.Create(control.Header{Version: config.Version, Job: job, Rows: rows,
				Start: control.Start{Epoch: 1}})
			if err != nil {
				b.Fatal(err)
			}
			defer block.Seg.Close()
			s := &device.Setup{Job: &job, Plan: plan.New(&c, 1, rows), Schedule: plan.NewSchedule(&c, c.LR, rows)}
			h200 := gpu{GPU: GPU{Total: 141 << 30}}
			t := &trainer{setup: s, rate: s.Rate, pace: h200.longest(), most: h200.longest()}
			at := &stage{host: make([]byte, 1<<20)}
			sums := make([]uint64, sumWords*(t.most/s.Plan.Chunk+2))
			var queued []plan.Chunk
			for range b.N {
				block.Open(1)
				for {
					queued = queued[:0]
					for len(queued) < t.PreferredChunks() {
						c, ok := block.Next(0)
						if !ok {
							break
						}
						queued = append(queued, c)
					}
					if len(queued) == 0 {
						break
					}
					t.left, t.results = append(t.left[:0], queued...), t.results[:0]
					for each := t.each(); len(t.left) > 0; {
						pieces, steps := t.cut(each), 0
						at.end = 0
						t.stagePieces(at, pieces)
						t.ended(flight{pieces: pieces, steps: steps}, sums)
					}
					for i, c := range queued {
						block.Finish(0, c, t.results[i])
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}
