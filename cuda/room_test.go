//go:build cuda

package cuda

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/tuning"
)

// TestContextsNeedRoom: on a GPU of 8 GiB, where a context takes 400 MiB, four workers leave less
// than 6 GiB to a set, whether NVML tells what a context takes or not.
func TestContextsNeedRoom(t *testing.T) {
	for name, others := range map[string]uint64{"without NVML": 0, "with NVML": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			free := "HOGWILD_FAKE_FREE=8GiB"
			if others > 0 {
				free = "HOGWILD_FAKE_FREE=7GiB"
			}
			if !replay(t, "HOGWILD_FAKE_MEMORY=8GiB", "HOGWILD_FAKE_CONTEXT=400MiB", free) {
				return
			}
			const taken = 400 << 20
			if others > 0 {
				asked := uint64(0)
				playNVML(t)(0).GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) {
					asked++
					return nvml.Memory{Free: 7<<30 - (asked-1)*taken}, nvml.SUCCESS // before and after
				}
			}
			g, err := describe(0)
			if err != nil {
				t.Fatal(err)
			}
			before := nvmlFree(g.UUID)
			err = withGPU(0, "", func(c *gpu) (err error) {
				o := owner{gpu: c,
					setup: &device.Setup{Mem: &control.Weights{Ranks: 4},
						Job: &tuning.Job{Asked: config.Config{Workers: 4}}}}
				if o.context, err = contextCost(c.UUID, before); err != nil {
					return err
				}
				if o.context != taken {
					t.Errorf("a context takes %s, want 400 MiB", size(o.context))
				}
				// 5 processes have 64 MiB each for their buffers, and 4 have no context yet.
				room := 8<<30 - int64(others) - 5*taken - 5*64<<20
				for bytes, streams := range map[int64]bool{room: false, room + 1: true} {
					piece, err := o.fits("training", bytes)
					if err != nil || piece > 0 != streams {
						t.Errorf("a set of %d bytes streams in pieces of %d (%v), want it to: %t", bytes,
							piece, err, streams)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
