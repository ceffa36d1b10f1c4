//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"unsafe"

	"hogwild/hogwild/config"
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
	*o.setup.Taken(0) = 7 // as of a run that is resumed: what is copied last is not zero
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
