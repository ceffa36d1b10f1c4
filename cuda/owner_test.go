//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
)

// watched looks at the weights as soon as Upload has returned, as another process may: in the
// stand-in's device memory, which is host memory, and without a call that would wait.
type watched struct {
	backend
	late *bool
}

type watchedOwner struct {
	*owner
	late *bool
}

func (b watched) Own(s *device.Setup) (device.Owner, error) {
	o, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	return watchedOwner{o.(*owner), b.late}, nil
}

var errLooked = errors.New("the test has seen enough")

func (o watchedOwner) Upload() error {
	*o.setup.Mem.Optimizers[0].Steps = 7 // as of a run that is resumed: what is copied last is not zero
	if err := o.owner.Upload(); err != nil {
		return err
	}
	for _, p := range o.parts() {
		at := uintptr(p.at)
		there := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), len(p.host))
		*o.late = *o.late || !bytes.Equal(there, p.host)
	}
	return errLooked
}

// TestUploadWaits: when workers learn where the weights are, the weights are there, although a
// copy may return before its bytes have arrived.
func TestUploadWaits(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_LATE_COPIES=20") {
		return
	}
	late := false
	device.RegisterBackend("cuda", watched{late: &late})
	defer Register()
	_, err := run.Run(context.Background(),
		digits(t, func(c *config.Config) { c.Model, c.Data = "softmax", "digits:200" }), run.Options{})
	if !errors.Is(err, errLooked) || late {
		t.Errorf("the upload ended with %v; weights that came late: %t", err, late)
	}
}

// TestCopiesAside: copies of the weights alone, which are made while an evaluation runs, are on a stream that does not
// wait for the default stream.
func TestCopiesAside(t *testing.T) {
	before := len(trace(t))
	c := configtest.Dense()
	c.GPU, c.Workers = "0", 1
	setup, o := ownOf(t, c, backend{})
	for i := range setup.Weights {
		setup.Weights[i] = float32(i)
	}
	want := slices.Clone(setup.Weights)
	ok(t, o.Replace())
	clear(setup.Weights)
	ok(t, o.Refresh())
	if !slices.Equal(setup.Weights, want) {
		t.Errorf("weights %v, want %v", setup.Weights, want)
	}
	flags, copies := map[string]int{}, 0
	for _, c := range trace(t)[before:] {
		switch {
		case c.Call == "cuStreamCreate":
			flags[c.Stream] = c.Flags
		case c.Bytes == 4*len(want) && strings.HasPrefix(c.Call, "cuMemcpy"):
			if copies++; flags[c.Stream] != int(cu.NonBlocking) {
				t.Errorf("%s on stream %s with flags %d", c.Call, c.Stream, flags[c.Stream])
			}
		}
	}
	if copies != 2 {
		t.Errorf("%d copies of the weights, want 2", copies)
	}
}
