package peers_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/peers"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// strict is an engine that notices two calls at the same time, and may be slow to make some.
type strict struct {
	nodes.Engine
	t    *testing.T
	busy atomic.Int32
	slow func(numbers int) bool
}

func (e *strict) Sum(numbers []float64) error {
	if e.busy.Add(1) != 1 {
		e.t.Error("two calls at the same time")
	}
	defer e.busy.Add(-1)
	if e.slow != nil && e.slow(len(numbers)) {
		time.Sleep(600 * time.Millisecond) // two beats
	}
	return e.Engine.Sum(numbers)
}

// strictly runs two nodes; the second is slow to make some calls.
func strictly(ctx context.Context, t *testing.T, c config.Config, onEpoch func(rundir.EpochResult),
	slow func(numbers int) bool) []error {
	t.Helper()
	j := &nodesRun{errs: make([]error, 2)}
	c.NodeTimeout = time.Second
	for i, e := range nodes.InProcess(2, time.Minute) {
		s := &strict{Engine: e, t: t}
		o := run.Options{Peers: peers.New(s, c.NodeTimeout)}
		if i == 1 {
			s.slow, o.OnEpoch = slow, onEpoch
		}
		j.all.Go(func() { _, j.errs[i] = run.Run(ctx, c, o) })
	}
	j.all.Wait()
	return j.errs
}

// TestOneCallAtATime: while a node waits for the others it makes no second call, in the evaluation of the last epoch
// and in the round after a signal neither.
func TestOneCallAtATime(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.Run = 1, 1, t.TempDir()
	scores := func(numbers int) bool { return numbers == 6 } // the sums of an evaluation
	if err := errors.Join(strictly(t.Context(), t, c, nil, scores)...); err != nil {
		t.Error("slow to evaluate:", err)
	}
	c.Epochs, c.Run = 100_000, t.TempDir()
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	var late atomic.Int32 // the calls after the signal
	errs := strictly(ctx, t, c, func(rundir.EpochResult) { interrupt(config.ErrTerminated) },
		func(int) bool { return ctx.Err() != nil && late.Add(1) < 4 })
	for i, err := range errs {
		if !errors.Is(err, config.ErrTerminated) || errors.Is(err, nodes.ErrLost) {
			t.Errorf("slow to end: node %d: %v", i, err)
		}
	}
}

// TestAPanicOnOneNode reaches the caller of Run there, and ends the job on the others.
func TestAPanicOnOneNode(t *testing.T) {
	for _, last := range []bool{false, true} {
		c := configtest.Quick(t)
		c.Workers, c.Epochs, c.Run = 1, 100_000, filepath.Join(t.TempDir(), "run")
		if last {
			c.Epochs = 1
		}
		j := &nodesRun{errs: make([]error, 2)}
		var recovered any
		for i, e := range nodes.InProcess(2, 20*time.Second) {
			o := run.Options{Peers: peers.New(e, c.NodeTimeout)}
			if i == 1 {
				o.OnEpoch = func(rundir.EpochResult) { panic("on one node") }
			}
			j.all.Go(func() {
				if i == 1 {
					defer func() { recovered = recover() }()
				}
				_, j.errs[i] = run.Run(t.Context(), c, o)
			})
		}
		j.all.Wait()
		if recovered != "on one node" {
			t.Errorf("recovered %v, error %v", recovered, j.errs[1])
		}
		if err := j.errs[0]; err == nil || !strings.Contains(err.Error(), "node") {
			t.Errorf("node 0: %v", err)
		}
	}
}
