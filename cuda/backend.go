//go:build cuda

package cuda

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hogwild/hogwild"
)

// Register makes --gpu known to package hogwild. It is called first thing in main.
func Register() { hogwild.RegisterBackend("cuda", backend{}) }

// backend is GPU memory as a place for weights.
type backend struct{}

// Own makes and exports the run's memory on the GPU that the configuration names,
// and tries the kernel on it.
func (backend) Own(s *hogwild.Setup) (hogwild.Owner, error) {
	index, err := strconv.Atoi(s.Config.GPU)
	if err != nil || index < 0 {
		return nil, fmt.Errorf("gpu %q: want the index of a GPU, counted from 0", s.Config.GPU)
	}
	c, err := openContext(index, "")
	if err != nil {
		return nil, err
	}
	release, err := c.use()
	if err != nil {
		return nil, err
	}
	defer release()
	o := &owner{gpu: c, setup: s, memory: memory{layout: newLayout(s)}}
	for _, step := range []func() error{o.allocateRun, o.export, o.uploadData, o.prepare, o.selfCheck} {
		if err := step(); err != nil {
			_ = o.free() // the error that counts is the first
			return nil, err
		}
	}
	return o, nil
}

// Join opens the coordinator's memory in a worker.
func (backend) Join(s *hogwild.Setup, rank int, text []byte) (hogwild.Device, error) {
	var h ticketOfRun
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("the handle of the GPU memory: %w", err)
	}
	m := &memory{layout: newLayout(s)}
	if sum := m.layout.checksum(); sum != h.Checksum || m.layout.Size != h.Size || m.layout.Data.Size != h.DataSize {
		return nil, fmt.Errorf("the GPU memory is laid out otherwise (%s, %d and %d bytes) than this worker expects (%s, %d and %d)",
			h.Checksum, h.Size, h.DataSize, sum, m.layout.Size, m.layout.Data.Size)
	}
	c, err := openContext(0, h.UUID)
	if err != nil {
		return nil, err
	}
	release, err := c.use()
	if err != nil {
		return nil, err
	}
	defer release()
	if m.weights, err = openMemory(h.Weights); err != nil {
		return nil, err
	}
	if m.data, err = openMemory(h.Data); err != nil {
		return nil, err
	}
	t, err := newTrainer(s, c, m, rank)
	if err != nil {
		return nil, err
	}
	t.opened = true
	return t, nil
}
