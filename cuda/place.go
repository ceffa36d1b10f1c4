//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/internal/human"
)

// Which rank is where, and how it reaches the weights. The weights, with all that
// belongs to them, are on the first GPU of the list, the owner's. The ranks are
// dealt out over the list.

// way is how a worker reaches the weights.
type way int

const (
	direct      way = iota // they are on its GPU
	asPeer                 // its kernels read them and add to them on the other GPU, over NVLink
	byMerges               // it trains a replica, whose difference a kernel on its GPU adds there
	byRounds               // it trains a replica in barrier mode, which a kernel on its GPU copies to its slot there
	throughHost            // not at all: all workers of the run train replicas that meet in host memory
)

// enough refuses more GPUs than there are workers for them.
func (b backend) enough(c *config.Config, gpus []int) error {
	if len(gpus) > c.Workers+b.shift {
		return fmt.Errorf("gpu %s: %s for %s: each GPU needs at least one; raise --workers", c.GPU,
			human.Plural(len(gpus), "GPU"), human.Plural(c.Workers, "worker"))
	}
	return nil
}

// gpuOf is which of n GPUs a rank is on.
func (b backend) gpuOf(rank, n int) int { return (rank + b.shift) % n }

// wayFrom is how a worker on another GPU reaches the owner's.
func wayFrom(here, owner cu.Device, s *device.Setup) (way, error) {
	p, err := peer(int(here), int(owner))
	switch c := &s.Job.Asked; {
	case err != nil || !p.Access:
		return throughHost, err
	case c.Layout != nil: // its programs' kernels neither add nor merge
		return asPeer, nil
	case c.Mode.Traits().Barrier:
		return byRounds, nil
	case !p.Atomics:
		return throughHost, nil
	case mayTrainReplica(s):
		return byMerges, nil
	}
	return asPeer, nil
}

// largestReplica is in bytes: a merge of more takes a good part of a millisecond.
const largestReplica = 64 << 20

// mayTrainReplica reports whether a worker on another GPU may add what several steps have learnt at once. Steps that
// touch few of the weights add these alone.
func mayTrainReplica(s *device.Setup) bool {
	c := &s.Job.Asked
	if c.Layout != nil || c.MergeEvery == config.InPlace ||
		c.OptimizerState == config.Shared && c.Optimizer != config.SGD {
		return false
	}
	few := s.Set.Sparse() || s.Set.Entries() || s.Set.Words()
	return c.Mode.Traits().Copies && !few && 4*len(s.Weights) <= largestReplica
}

// note says how the workers on one of the other GPUs reach the weights; every is the period of merges.
func (w way) note(here, owner cu.Device, c *config.Config, every int) string {
	text := fmt.Sprintf("gpu %d: ", here)
	period := ""
	if every > 0 {
		period = fmt.Sprintf(", every %d steps at most", every)
	}
	switch {
	case w == asPeer:
		return text + fmt.Sprintf("updates go directly to gpu %d", owner)
	case w == byMerges:
		return text + fmt.Sprintf("trains a replica, merged with the weights of gpu %d after each launch%s", owner,
			period)
	case w == byRounds:
		return text + fmt.Sprintf("sends replicas to gpu %d for averaging", owner)
	}
	text += fmt.Sprintf("no peer access to gpu %d", owner)
	if c.Mode.Traits().Barrier {
		return text + ": all workers train replicas, averaged in host memory"
	}
	return text + " with atomics: all workers train replicas, merged in host memory after each launch" + period
}

// refuseReplicas says what replicas cannot do: the state of an optimizer that all
// share would have to be where all add to it.
func refuseReplicas(c *config.Config, who string) error {
	if c.OptimizerState == config.Shared && c.Optimizer != config.SGD && !c.Mode.Traits().Barrier {
		return fmt.Errorf("optimizer-state shared: %s trains a replica of the weights with its own state; use "+
			"optimizer-state private", who)
	}
	return nil
}

// runHandle is what workers need to open a run's memory: the handle that travels
// in the control segment.
type runHandle struct {
	Nonce    uint64      `json:"nonce"` // of the run: a handle of another run is refused
	Checksum string      `json:"checksum"`
	Weights  handle      `json:"weights"` // on the first GPU; where workers meet in host memory, the owner's copy
	Size     int64       `json:"size"`
	DataSize int64       `json:"data_size"`
	GPUs     []gpuHandle `json:"gpus"` // the owner's first
}

// wayOf is how workers on a GPU of the list reach the weights. If those on one do not, none has them on a GPU.
func (h *runHandle) wayOf(gpu int) way {
	if h.throughHost() {
		return throughHost
	}
	return h.GPUs[gpu].Way
}

func (h *runHandle) throughHost() bool {
	return slices.ContainsFunc(h.GPUs, func(g gpuHandle) bool { return g.Way == throughHost })
}

// gpuHandle is what a worker on one of the run's GPUs needs.
type gpuHandle struct {
	UUID  string `json:"uuid"`
	Way   way    `json:"way"` // to the weights
	Data  handle `json:"data"`
	Piece int64  `json:"piece,omitempty"` // the training set streams, in pieces of this size
}

// backend is GPU memory as a place for weights.
type backend struct {
	shift int // of the list of GPUs, over which ranks are dealt out: tests put rank 0 elsewhere
}
