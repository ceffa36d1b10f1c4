package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Growing is a memfd without a table that can become larger, for a process that is not this program.
type Growing struct {
	mu   sync.Mutex
	file *os.File
	maps [][]byte // all of them: the last one is the largest
}

// CreateGrowing makes one of no bytes.
func CreateGrowing(name string) (*Growing, error) {
	f, err := memfd("hogwild-" + name)
	if err != nil {
		return nil, fmt.Errorf("shm: memfd_create for %q: %w", name, err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: sealing the size of %q: %w", name, err)
	}
	return &Growing{file: f}, nil
}

// Grow makes it at least size bytes large and returns all of them: the old content, then
// zeros. What earlier calls returned stays valid, and is the same memory.
func (g *Growing) Grow(size int) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		return nil, ErrClosed
	}
	if n := len(g.maps); n > 0 && len(g.maps[n-1]) >= size {
		return g.maps[n-1], nil
	}
	size = roundUp(size, unix.Getpagesize())
	if err := unix.Ftruncate(int(g.file.Fd()), int64(size)); err != nil {
		return nil, fmt.Errorf("shm: %d bytes for %s: %w", size, g.file.Name(), err)
	}
	mem, err := unix.Mmap(int(g.file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: mapping %d bytes of %s: %w", size, g.file.Name(), err)
	}
	g.maps = append(g.maps, mem)
	return mem, nil
}

// Discard gives the memory from an offset on back to the kernel: it is zeros again.
func (g *Growing) Discard(offset int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		return ErrClosed
	}
	n := len(g.maps)
	if n == 0 || len(g.maps[n-1]) <= offset {
		return nil
	}
	return unix.Fallocate(int(g.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(offset),
		int64(len(g.maps[n-1])-offset))
}

// File returns the memfd, to be handed to a child process.
func (g *Growing) File() *os.File { return g.file }

// Close lets go of it: what Grow returned is invalid from then on. A second Close returns ErrClosed.
func (g *Growing) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		return ErrClosed
	}
	err := g.file.Close()
	for _, mem := range g.maps {
		err = errors.Join(err, unix.Munmap(mem))
	}
	g.file, g.maps = nil, nil
	return err
}
