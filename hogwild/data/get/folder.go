package get

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/internal/human"
)

// lock waits until no other download works in a folder.
func (g *Getter) lock(ctx context.Context, dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, localError{err}
	}
	for waits := false; ; waits = true {
		// On other errors there are no locks, as on some network disks: then two downloads at once do the
		// work twice, and the checksum decides.
		if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return func() { d.Close() }, nil
		}
		if !waits {
			g.Note(fmt.Sprintf("another download works in %s: waiting for it", human.Name(dir)))
		}
		select {
		case <-ctx.Done():
			d.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// newName is what a file is called until it is whole. The lock of the folder keeps others from it.
func newName(path string) string { return path + ".new" }

// writeNew writes a file under its new name, and makes it last.
func writeNew(dir, name string, write func(*os.File) error) error {
	path := newName(filepath.Join(dir, name))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return localError{err}
	}
	err = write(f)
	for _, end := range []func() error{f.Sync, f.Close} {
		if e := end(); err == nil && e != nil {
			err = localError{e}
		}
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}
