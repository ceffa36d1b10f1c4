package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/peers"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// launched takes in that an MPI launcher has started this run as one node of a job. Settings are node 0's: the others
// read no folder of a run.
func (o *trainOptions) launched() error {
	l := nodes.Launched()
	switch {
	case o.MPI == config.On && l.Ranks == 0:
		return usagef("mpi on: no launcher of a job has started this run, as far as it says: there is none of %s in "+
			"the environment; use mpirun, mpiexec or srun, or --mpi auto",
			nodes.Variables())
	case o.MPI == config.Off || l.Ranks < 2 && o.localNodes > 0:
		o.Nodes = o.localNodes
		return nil
	}
	o.Node, o.Nodes = l.Rank, l.Ranks
	if l.Rank > 0 {
		o.Resume, o.dashboard = "", ""
	}
	return nil
}

// perNode are the flags whose values may differ between the nodes of a job, and those that node 0 alone heeds.
var perNode = []string{"workers", "gpu", "gpu-mem-free", "max-memory", "resume", "config",
	"nodes", "json", "quiet", "dashboard", "cpuprofile", "trace", "timing"}

// stated returns the settings that this node was given, and that all nodes of a job must be given alike.
func (s *settings) stated() map[string]string {
	all := map[string]string{}
	for _, name := range s.names() {
		if s.given[name] && s.origin[name].rank < inRun && !slices.Contains(perNode, name) {
			all[name] = s.set.Lookup(name).Value.String()
		}
	}
	return all
}

// give has the nodes compare what each was given; node 0 alone speaks of what has no effect.
func (o *trainOptions) give(s *settings) error {
	if o.Given = s.stated(); o.Node > 0 {
		return nil
	}
	return s.checkIdle(&o.Config)
}

// noteAlone says that torchrun's processes are no nodes, and which settings a job of one rank has no use for: the same
// command with more ranks has.
func (o *trainOptions) noteAlone(stderr io.Writer) {
	if n := os.Getenv("WORLD_SIZE"); n != "" && n != "1" && os.Getenv("RANK") != "" && o.MPI == config.Auto {
		fmt.Fprintf(stderr, "hogwild: WORLD_SIZE=%s, as torchrun sets it: each of these processes is a run of its "+
			"own; start one with --workers %[1]s, or nodes with mpirun or srun\n", human.Name(n))
	}
	alone := o.Config
	if alone.Nodes = 0; o.localNodes == 0 && o.Nodes == 1 {
		for i := range alone.Idle(nil) {
			if i.Changed {
				fmt.Fprintf(stderr, "hogwild: %s has started one rank: %s\n", nodes.Launched().Launcher,
					human.Visible(i.Why))
			}
		}
	}
}

// requeued drops --resume if its folder has no snapshot yet and is --run's too: so the command that begins a job
// continues it after it was killed.
func (o *trainOptions) requeued() {
	if o.Resume == "" || o.Resume != o.Run || rundir.HasSnapshot(o.Resume) {
		return
	}
	o.Resume = ""
	o.dropped = append(o.dropped, fmt.Sprintf("%s has no snapshot yet: a new run begins in it", o.Run))
}

// waitForFirst is how long other ranks leave rank 0 to say what is wrong: the launcher kills it when they exit. They
// have no other connection.
const waitForFirst = 3 * time.Second

// afterFirst delays the errors of other ranks from before they join the job: rank 0 most likely has the same.
func (o *trainOptions) afterFirst(train cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := train(c)
		if err != nil && o.engine == nil && o.MPI != config.Off && nodes.Launched().Rank > 0 {
			time.Sleep(waitForFirst)
		}
		return err
	}
}

// joinJob connects this run with the other nodes of its job.
func (o *trainOptions) joinJob(stderr io.Writer) error {
	if err := o.checkHere(); err != nil || o.Nodes < 2 {
		o.noteAlone(stderr)
		return err
	}
	if o.tune {
		return usagef("--tune: it runs on one machine; find the learning rate there, and give the job --lr")
	}
	if o.localNodes > 1 {
		return nil
	}
	engine, err := nodes.StartMPI(o.NodeTimeout)
	switch {
	case errors.Is(err, nodes.ErrLauncher) && o.Node > 0:
		return config.Usage("%w: %w", config.ErrReported, err)
	case err != nil:
		return config.Usage("%w", err)
	}
	o.engine, o.Peers = engine, peers.New(engine, o.NodeTimeout)
	p := engine.Place()
	if note := nodes.Launched().Bound(p); note != "" && p.Node == 0 {
		fmt.Fprintf(stderr, "hogwild: %s\n", human.Visible(note))
	}
	return nil
}

// leaveJob ends the connection with the other nodes, after the report: some MPI libraries hang when they do so.
func (o *trainOptions) leaveJob() {
	if o.engine != nil && o.localNodes < 2 {
		_ = o.engine.Leave() // nothing is left to lose
	}
}

// mostHere is how many nodes one process may have: more are a mistake.
const mostHere = 64

// checkHere refuses --nodes out of range, or along with the nodes of a launcher.
func (o *trainOptions) checkHere() error {
	switch {
	case o.localNodes < 0 || o.localNodes > mostHere:
		return usagef("nodes %d: want 1 to %d in one process", o.localNodes, mostHere)
	case o.localNodes > 0 && o.Nodes != o.localNodes:
		return usagef("nodes %d: %s has started a job of %d nodes; leave nodes out", o.localNodes,
			nodes.Launched().Launcher, o.Nodes)
	}
	return nil
}

// runNodes runs this node of the job; or, with --nodes, all of them in this process. Node 0 reports.
func (o *trainOptions) runNodes(ctx context.Context) (rundir.Result, error) {
	if o.localNodes < 2 {
		result, err := run.Run(ctx, o.Config, o.Options)
		return result, onNode(o.Node, err)
	}
	engines := nodes.InProcess(o.localNodes, o.NodeTimeout)
	errs := make([]error, len(engines))
	var others sync.WaitGroup
	for i, e := range engines[1:] {
		c, options := o.Config, run.Options{Peers: peers.New(e, o.NodeTimeout), Quiet: true, Given: o.Given}
		c.Run = ""
		others.Go(func() { _, errs[i+1] = run.Run(ctx, c, options) })
	}
	o.Peers = peers.New(engines[0], o.NodeTimeout)
	result, err := run.Run(ctx, o.Config, o.Options)
	others.Wait()
	for i, e := range errs[1:] {
		if e != nil && !errors.Is(e, config.ErrReported) && (err == nil || errors.Is(err, config.ErrReported)) {
			err = onNode(i+1, e)
		}
	}
	return result, err
}

// onNode adds to an error which node has it. The error of a lost connection says so itself.
func onNode(node int, err error) error {
	if node == 0 || err == nil || errors.Is(err, nodes.ErrLost) || errors.Is(err, config.ErrReported) {
		return err
	}
	return fmt.Errorf("node %d: %w", node, err)
}
