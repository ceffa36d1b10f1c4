package programs

import (
	"context"
	"errors"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/program"
	"hogwild/hogwild/worker"
	"os"
)

func init() { worker.Program = join }

// join gives a worker's device to a program that takes the steps.
func join(h *control.Header, rank int, block *control.Block, s *device.Setup,
	inner device.Device) (device.Device, error) {
	c := &h.Job.Asked
	awaits := func(p program.Awaited) { // the coordinator looks whether it hangs
		pid := 0
		if p != nil {
			pid = p.PID()
		}
		block.SetRank(rank, control.RankProgram, uint64(pid))
	}
	p, err := program.Start(context.Background(), program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed,
		Rank: rank, Stderr: os.Stderr, Awaits: awaits})
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return program.Join(s, rank, inner, p)
}
