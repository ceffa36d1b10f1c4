package core

import (
	"testing"
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
