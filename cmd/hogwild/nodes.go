package main

import (
	"errors"
	"fmt"
	"io"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// launched takes in that an MPI launcher has started this run as one node of a job. Settings are node 0's: the others
// read no folder of a run.
func (o *trainOptions) launched() {
	l := nodes.Launched()
	if o.MPI == "off" || l.Ranks < 2 {
		return
	}
	o.Node, o.Nodes = l.Rank, l.Ranks
	if l.Rank > 0 {
		o.Resume, o.dashboard = "", ""
	}
}

// requeued drops --resume if its folder has no snapshot yet and is that of --run too: so the command that begins a job
// continues it after it was killed.
func (o *trainOptions) requeued() {
	if o.Resume == "" || o.Resume != o.Run || rundir.HasSnapshot(o.Resume) {
		return
	}
	o.Resume = ""
	o.dropped = append(o.dropped, fmt.Sprintf("%s has no snapshot yet: a new run begins in it", o.Run))
}

// joinJob connects this run with the other nodes of its job.
func (o *trainOptions) joinJob(stderr io.Writer) error {
	if o.Nodes < 2 {
		return nil
	}
	if o.tune {
		return usagef("--tune: it runs on one machine; find the learning rate there, and give the job --lr")
	}
	engine, err := nodes.StartMPI(o.NodeTimeout)
	switch {
	case errors.Is(err, nodes.ErrLauncher) && o.Node > 0:
		return config.Usage("%w: %w", config.ErrReported, err)
	case err != nil:
		return config.Usage("%w", err)
	}
	o.Engine = engine
	p := engine.Place()
	if note := nodes.Launched().Bound(p); note != "" && p.Node == 0 {
		fmt.Fprintf(stderr, "hogwild: %s\n", human.Visible(note))
	}
	return nil
}
