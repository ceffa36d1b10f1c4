package run

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
)

// TestStoppedWorkersUpdateIsDropped: the update that a worker has in hand when it is stopped is dropped once it goes on
// and the others have written too many meanwhile; and nothing else is lost.
func TestStoppedWorkersUpdateIsDropped(t *testing.T) {
	const victim = 1
	for every, rule := range map[string]string{"8": "drop:10", "1": "drop:80"} {
		t.Run("merge-every "+every, func(t *testing.T) {
			c := quick(t)
			c.Data, c.Workers, c.Batch, c.MergeEvery, c.Stale = "digits:6000", 2, 4, every, config.MustRule(rule)
			c.GradientDelay, c.Epochs, c.SaveEvery = time.Millisecond, 1000, "0" // a worker loses its core for less
			r := start(t, c)
			m := sharedWeights(t, c)
			pid := r.pid(victim)
			defer syscall.Kill(pid, syscall.SIGCONT) // if the test failed
			late := func() (late, all uint64) {
				n := m.Records[victim][control.RecordApplied:][:3]
				return n[1] + n[2], n[0] + n[1] + n[2]
			}
			dropped := false
			for tries := 0; tries < 5 && !dropped; tries++ {
				epoch := r.block.Get(control.WordEpoch) + 1
				r.reach(epoch, 100)
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				await(t, "the stop", func() bool { return stopped(pid) })
				before, counted := late()
				first := m.Counts[0]
				await(t, "100 steps of the other, or all that it can take", func() bool {
					return m.Counts[0] > first+100 || r.block.Get(control.WordEpoch) != epoch ||
						othersDone(r.block, victim)
				})
				enough := m.Counts[0] > first+100
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				await(t, "its next update", func() bool { _, n := late(); return n != counted })
				now, _ := late()
				dropped = enough && now > before
			}
			if !dropped {
				t.Error("no update of the stopped worker was dropped")
			}
			if err := m.Seg.Close(); err != nil {
				t.Error(err)
			}
			r.stop()
			got, _ := r.wait()
			u := got.Updates
			if u == nil || u.Repeated == 0 || u.Scale != 1 {
				t.Fatalf("the report has %+v", u)
			}
			steps, all := got.Examples/int64(c.Batch), u.Applied+u.Dropped
			if all < steps || all > steps+steps/100 { // a chunk of an epoch may end with a smaller batch
				t.Errorf("%+v of %d steps: applied and dropped do not add up", *u, steps)
			}
		})
	}
}

// TestReportOfRule: the report says what became of updates where there is a rule, of each worker too.
func TestReportOfRule(t *testing.T) {
	c := quick(t)
	c.Model, c.Workers, c.Batch, c.SaveEvery = "slow", 3, 8, "0"
	for _, rule := range []string{"plain", "adaptive", "inverse", "tail", "drop:2"} {
		c.Stale, c.Run = config.MustRule(rule), t.TempDir()
		r := train(t, c)
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if rule == "plain" {
			if r.Updates != nil || strings.Contains(text.String(), "\nupdates") {
				t.Errorf("without a rule: %+v, %s", r.Updates, &text)
			}
			continue
		}
		sum := int64(0)
		for _, w := range r.PerWorker {
			sum += w.Updates.Applied + w.Updates.Dropped
		}
		u := r.Updates
		if steps := r.Examples / 8; u.Applied+u.Dropped != steps || sum != steps {
			t.Errorf("%s: %+v, %d of all workers, want %d together", rule, *u, sum, steps)
		}
		scaled, drops := rule == "inverse", rule == "drop:2" // each is late by two others
		if scaled != (u.Scale < 0.6) || drops != (u.Repeated > 0) ||
			!strings.Contains(text.String(), "\nupdates     ") || !strings.Contains(text.String(), ", stale "+rule) {
			t.Errorf("%s: %+v, %s", rule, *u, &text)
		}
	}
}
