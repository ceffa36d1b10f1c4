//go:build cuda

package cuda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"gorgonia.org/cu"
)

// Trials that hogwild doctor makes on a GPU: memory that two processes share, and host
// memory that is pinned.

// echo is what the second process is told.
type echo struct {
	UUID   string
	Handle handle
}

// Words that the two processes write.
const (
	asked    = 0x484f4757
	answered = 0x57494c44
	words    = 1 << 10
)

// share makes an allocation on a GPU and has the second process use it.
func share(g *GPU, child *exec.Cmd) error {
	return withGPU(g.Index, "", func(c *gpu) error {
		p, err := c.allocate(block, "a trial")
		if err != nil {
			return err
		}
		err = converse(child, g, p)
		return keep(err, failed(cu.MemFree(p), "freeing the trial"))
	})
}

// converse writes, exports, waits for the second process, and reads its answer.
func converse(child *exec.Cmd, g *GPU, p cu.DevicePtr) error {
	if err := fill(p, asked); err != nil {
		return err
	}
	h, err := exportMemory(p)
	if err != nil {
		return err
	}
	text, err := json.Marshal(echo{g.UUID, h})
	if err != nil {
		return err
	}
	child.Stdin = bytes.NewReader(text)
	if out, err := child.CombinedOutput(); err != nil {
		return fmt.Errorf("%s (%w)", strings.Join(strings.Fields(string(out)), " "), err)
	}
	return expect(p, answered, "writes of the second process do not arrive")
}

// fill writes a word everywhere, and waits until it is there: a copy from ordinary host memory
// may return before.
func fill(p cu.DevicePtr, word uint32) error {
	err := upload(p, slices.Repeat([]uint32{word}, words))
	return keep(err, failed(cu.Synchronize(), "writing %d words on the GPU", words))
}

// expect is an error unless all words at p are the one.
func expect(p cu.DevicePtr, word uint32, otherwise string) error {
	got := make([]uint32, words)
	if err := download(got, p); err != nil {
		return err
	}
	if i := slices.IndexFunc(got, func(w uint32) bool { return w != word }); i >= 0 {
		return fmt.Errorf("%s: word %d of %d is %#x, not %#x", otherwise, i, words, got[i], word)
	}
	return nil
}

// Echo is the second process of Examine: it opens the memory that the text describes, reads it, and
// writes.
func Echo(text []byte) error {
	var e echo
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("reading the handle: %w", err)
	}
	return withGPU(0, e.UUID, func(*gpu) error {
		p, err := openMemory(e.Handle)
		if err != nil {
			return err
		}
		err = expect(p, asked, "writes of the first process do not arrive")
		if err == nil {
			err = fill(p, answered)
		}
		return keep(err, closeMemory(p))
	})
}

// pinning is how much host memory a run may pin, in bytes: chunks of data that does not
// fit the GPU.
const pinning = 64 << 20

// tryPinned pins host memory for a GPU, and lets it go.
func tryPinned(g *GPU) error {
	return withGPU(g.Index, "", func(*gpu) error {
		b, err := pin(pinning)
		if err != nil {
			return err
		}
		return unpin(b)
	})
}

// lockedMemory is RLIMIT_MEMLOCK.
func lockedMemory() (int64, bool) {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return int64(r.Cur), true
}
