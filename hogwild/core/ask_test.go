package core

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
)

// TestLargeCopyIsWaitedFor: after an interruption too a copy of many bytes has the time that it needs.
func TestLargeCopyIsWaitedFor(t *testing.T) {
	if got := copyTime(20 << 30); got < 40*time.Second || copyTime(1<<20) != 0 {
		t.Errorf("20 GiB may take %v, 1 MiB %v", got, copyTime(1<<20))
	}
	over := make(chan struct{})
	close(over)
	for _, large := range []bool{true, false} {
		r := New(config.Default(), Options{Quiet: true}, nil)
		r.Mem.Traits.Driver, r.Mem.DeviceTimeout, r.Mem.Interrupted = true, 6*time.Millisecond, over
		r.Mem.Weights = &control.Weights{}
		if large {
			r.Mem.Weights.W = make([]float32, 1<<30) // 8 s; its pages stay untouched
		}
		err := r.Mem.CallDevice(r.Mem.DeviceTimeout, func() error { time.Sleep(500 * time.Millisecond); return nil })
		if (err == nil) != large {
			t.Errorf("large %v: %v", large, err)
		}
	}
}

// TestPatience: by a clock that stands still while anything runs, a copy of the weights is waited for as long as it may
// take, an evaluation five times as long, and a copy behind an evaluation as long as both; after an interruption a
// sixth of that. All that wait get the same error, of the one that was waited for in vain first.
func TestPatience(t *testing.T) {
	const copies, evaluates = "copies", "evaluates"
	for _, x := range []struct {
		calls       []string
		busy        bool
		interrupted time.Duration // after so long; 0: never
		says        string
		after       time.Duration
	}{
		{[]string{copies}, false, 0, "for 6s", 6 * time.Second},
		{[]string{copies}, false, 2 * time.Second, "for 1s", 3 * time.Second},
		{[]string{evaluates}, true, 0, "for 30s", 30 * time.Second},
		{[]string{evaluates}, true, 7 * time.Second, "for 5s", 12 * time.Second},
		{[]string{copies}, true, 0, "for 36s", 36 * time.Second},
		{[]string{copies}, true, 7 * time.Second, "for 6s", 13 * time.Second},
		{[]string{copies, evaluates}, true, 0, "for 30s", 30 * time.Second},
		{[]string{copies, evaluates}, true, 7 * time.Second, "for 5s", 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			interrupted, over, answers := make(chan struct{}), make(chan struct{}), make(chan error)
			defer close(over)
			r := &Memory{DeviceTimeout: 6 * time.Second, Busy: x.busy, Interrupted: interrupted}
			r.Traits.Driver = true
			r.Hung, r.markHung = context.WithCancelCause(t.Context())
			begun := time.Now()
			for _, call := range x.calls {
				limit := r.CopyTimeout()
				if call == evaluates {
					limit = Evaluations * r.DeviceTimeout
				}
				go func() { answers <- r.CallDevice(limit, func() error { <-over; return nil }) }()
			}
			if x.interrupted > 0 {
				time.AfterFunc(x.interrupted, func() { close(interrupted) })
			}
			for range x.calls {
				err := <-answers
				took := time.Since(begun)
				if err == nil || !strings.Contains(err.Error(), "has not answered "+x.says+":") || took < x.after ||
					took > x.after+x.after/60+time.Millisecond {
					t.Errorf("%+v: after %v: %v", x, took, err)
				}
			}
		})
	}
}
