package worker_test

import (
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// TestApartDisturbed: several workers of async on a matrix train blocks apart. When they are killed, when their number
// changes, and when the run is interrupted within an epoch and resumed by one worker, each entry is trained once an
// epoch, and the loss is no higher than one worker's, who trains in another order.
func TestApartDisturbed(t *testing.T) {
	whole := ofBlocks(t)
	whole.Mode, whole.Data = config.MustMode("async"), "synth:lowrank:900x700x80000x3"
	want := runtest.Train(t, whole)
	if was, err := rundir.SavedConfig(whole.Run); err != nil || was.Apart != 0 {
		t.Errorf("one worker is kept apart from none: a grid of %d (%v)", was.Apart, err)
	}
	t.Setenv(fault.Variable, "chunk.report:delay=5ms@every")
	for _, d := range []struct {
		name string
		do   func(p *runtest.Coordination, c config.Config)
	}{
		{"killed", func(p *runtest.Coordination, _ config.Config) {
			for rank := range 2 {
				time.Sleep(runtest.Within(60 * time.Millisecond))
				p.Kill(rank)
			}
		}},
		{"scaled", func(p *runtest.Coordination, c config.Config) {
			for _, n := range []int{12, 1} {
				if _, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoScale, Workers: n}); err != nil {
					t.Fatal(err)
				}
				runtest.Await(t, "other workers", func() bool { return len(runtest.Children(p.Cmd.Process.Pid)) == n })
			}
		}},
		{"interrupted", func(p *runtest.Coordination, _ config.Config) {
			runtest.Await(t, "the second epoch", func() bool {
				_, done, _, _ := p.Block.Progress()
				return p.Block.Get(control.WordEpoch) == 2 && done > 5000
			})
			p.Signal(syscall.SIGINT)
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			c := runtest.WithRun(whole, t.TempDir())
			c.Workers, c.MaxRestarts = 2, 1000
			p := runtest.StartCoordinator(t, c)
			d.do(p, c)
			err := p.Wait()
			got := p.Result()
			if was, err := rundir.SavedConfig(c.Run); err != nil || was.Apart == 0 {
				t.Errorf("no grid is saved (%v)", err)
			}
			if got.Stopped != "" {
				if f, err := rundir.ReadSnapshot(c.Run); err != nil || !f.Pos.Within {
					t.Errorf("the snapshot is not within an epoch (%v)", err)
				}
				c = runtest.Resumed(c)
				c.Workers = 1
				got, err = runtest.Try(t, c)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			if got.Examples != want.Examples || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want.Examples)
			}
			if !(got.TestLoss < 1.1*want.TestLoss) {
				t.Errorf("test loss %v, one worker's is %v", got.TestLoss, want.TestLoss)
			}
		})
	}
}
