//go:build cuda

package cuda

import (
	"fmt"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/internal/human"
)

// Which rank is where, and how it reaches the weights. The weights, with all that
// belongs to them, are on the first GPU of the list, the run's home. The ranks on GPUs
// are dealt out over the list; those on cores are the last.

// way is how a worker reaches the weights.
type way int

const (
	atHome    way = iota // they are on its GPU
	asPeer               // its kernels read them and add to them on the other GPU, over NVLink
	bySlots              // it trains a replica, whose difference goes home from GPU to GPU
	byStaging            // the same, through host memory
)

// enough refuses more GPUs than there are workers for them.
func (b backend) enough(c *config.Config, gpus []int) error {
	if on := c.Workers - c.CPUWorkers; len(gpus) > on+b.shift {
		return fmt.Errorf("gpu %s: %s for %s on GPUs: each needs one at least; raise --workers", c.GPU, human.Plural(len(gpus), "GPU"), human.Plural(on, "worker"))
	}
	return nil
}

// replica tells whether a worker trains one.
func (w way) replica() bool { return w == bySlots || w == byStaging }

// replicas is how many workers of a run do.
func (b backend) replicas(c *config.Config, h *ticketOfRun) (n int) {
	for rank := range c.Workers {
		if c.OnHost(rank) || h.GPUs[b.gpuOf(rank, len(h.GPUs))].Way.replica() {
			n++
		}
	}
	return n
}

// gpuOf is which of n GPUs a rank is on.
func (b backend) gpuOf(rank, n int) int { return (rank + b.shift) % n }

// wayFrom is how a worker on another GPU reaches home. In barrier mode it has a replica
// in any case, and has it where it trains.
func wayFrom(here, home cu.Device, c *config.Config) (way, error) {
	can, err := here.CanAccessPeer(home)
	if err != nil || can == 0 {
		return byStaging, failed(err, "asking whether GPU %d reaches GPU %d", here, home)
	}
	atomics, err := here.P2PAttribute(nativeAtomics, home)
	if err != nil || atomics == 0 || c.Mode.Kind == config.Sync {
		return bySlots, failed(err, "asking for atomics from GPU %d to GPU %d", here, home)
	}
	return asPeer, nil
}

// nativeAtomics is CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: without it an
// addition from one GPU to another's memory may lose others.
const nativeAtomics = cu.P2PNativeAomicSupported

// note says how the workers on one of the other GPUs reach the weights.
func (w way) note(here, home cu.Device, c *config.Config) string {
	text := fmt.Sprintf("gpu %d: ", here)
	switch {
	case w == asPeer:
		return text + fmt.Sprintf("updates go straight to gpu %d", home)
	case c.Mode.Kind == config.Sync:
		text += fmt.Sprintf("replicas go to gpu %d to be averaged", home)
	default:
		text += fmt.Sprintf("by differences to gpu %d", home)
	}
	if w == byStaging {
		return text + ", through host memory: no peer access"
	}
	if c.Mode.Kind != config.Sync {
		text += ": no atomics between the two"
	}
	return text
}

// refuseReplicas says what replicas cannot do: the state of an optimizer that all
// share would have to be where all add to it.
func refuseReplicas(c *config.Config, who string) error {
	if c.OptimizerState == "shared" && c.Optimizer != config.SGD && c.Mode.Kind != config.Sync {
		return fmt.Errorf("optimizer-state shared: %s trains a replica of the weights, and has a state of its own; use optimizer-state private", who)
	}
	return nil
}

// alone is the layout of a replica: the weights, and of slots and states its own. A
// replica that is averaged is itself what goes to the rank's slot.
func (l layout) alone(s *device.Setup) layout {
	a := layout{P: l.P, Size: 4 * int64(l.P), Data: l.Data}
	place := func(bytes int64) int64 {
		at := roundUp(a.Size, alignment)
		a.Size = at + bytes
		return at
	}
	slot, state := int64(0), int64(0)
	if s.Job.Average == "gradients" && len(l.Slots) > 0 {
		slot = place(4 * int64(l.P))
	}
	if len(s.States) > 0 {
		state = place(4 * int64(len(s.States[0])))
	}
	for range l.Slots {
		a.Slots = append(a.Slots, slot)
	}
	for range l.States {
		a.States = append(a.States, state)
	}
	a.Steps = place(countLine * int64(max(1, len(l.States))))
	a.Counts = place(countLine * int64(s.Job.Workers))
	a.Size = roundUp(a.Size, block)
	return a
}
