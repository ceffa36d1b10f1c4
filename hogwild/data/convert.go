package data

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data/format"
	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
	"hogwild/shm"
)

// Converted is what Convert has written.
type Converted struct {
	Train, Test Meta
	Validation  *Meta // nil: none was asked for
	Bytes       int64
}

// Convert reads data as LoadSets does, and writes the sets to a cache (see cache.go), which
// LoadSets, LoadLike, Describe and Stream take as Options.Path. Neither what it reads nor what it writes
// has to fit in memory; it needs twice the room of the file in the same folder.
// The file has its name only when it is complete. Tell is called now and then: so much of what is
// to be done is done.
//
// Accept may refuse what the training rows turn out to be.
//
// Convert returns when ctx is done; what it was doing ends with it, or soon after.
func Convert(ctx context.Context, o Options, out string, accept func(train *Meta) error,
	tell func(what string, done, total int)) (Converted, error) {
	if isCache(o.Path) {
		return Converted{}, fmt.Errorf("data: %s is a data cache already: train on it, or name the file that it was "+
			"converted from", o.Path)
	}
	if err := atomicfile.Check(out+".part", atomicfile.Unfinished, false); err != nil {
		return Converted{}, fmt.Errorf("data: %w", err)
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return Converted{}, fmt.Errorf("data: %s is not a file: name one to be written, such as %s.hog", out,
			filepath.Base(o.Path))
	}
	f, err := claim(out + ".part")
	if err != nil {
		return Converted{}, err
	}
	defer f.Close()
	c := &conversion{o: o, out: out, accept: accept}
	c.o.files = &format.Space{Ctx: ctx, Out: f, Dir: filepath.Dir(out), Tell: tell}
	done := make(chan error, 1)
	go func() { done <- c.run() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		os.Remove(f.Name())
		return Converted{}, err
	}
	return c.result, nil
}

// claim makes a file for this process alone. One of that name that an interrupted conversion left is
// written over.
func claim(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, fmt.Errorf("data: %w; name a file in a folder that can be written", err)
		}
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("data: another conversion writes %s: wait for it, or name another file", path)
			}
			return nil, fmt.Errorf("data: locking %s: %w", path, err)
		}
		here, err := f.Stat()
		there, gone := os.Stat(path)
		if err == nil && gone == nil && os.SameFile(here, there) {
			return f, f.Truncate(0)
		}
		f.Close() // the other conversion has just ended: its file has its name
	}
}

// conversion is a call of Convert.
type conversion struct {
	o      Options
	out    string
	accept func(train *Meta) error
	result Converted
}

// run calls load; what is read is mapped, and may become shorter, or its disk fail.
func (c *conversion) run() (err error) {
	fault := Guard(func() { err = c.load() }, func() error {
		return fmt.Errorf("data: %s could not be read as a whole: a file became shorter, or the disk failed", c.o.Path)
	})
	return errors.Join(err, fault)
}

// load loads the sets into the file, and completes it.
func (c *conversion) load() error {
	scratch := c.o.files
	defer scratch.LetGo()
	if err := scratch.Out.Truncate(shm.PartAlign); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	sets, err := LoadSets(c.o)
	if err != nil {
		return err
	}
	defer sets.Close()
	if err := c.accept(&sets.Train.Meta); err != nil {
		return err
	}
	head := cacheHead{Made: recipe{Path: c.o.Path, Test: c.o.Test, Validation: c.o.Validation, Format: c.o.Format,
		Target: c.o.Target,
		Scale:  c.o.Scale, Ignore: c.o.Ignore, Weight: c.o.Weight, Columns: c.o.Columns, Missing: c.o.Missing,
		Limit: c.o.Limit, Positive: c.o.Positive, Task: c.o.Task, Seed: c.o.Seed}}
	if head.Parts, err = parts(scratch, &sets); err != nil {
		return err
	}
	c.result.Train, c.result.Test = sets.Train.Meta, sets.Test.Meta
	if sets.Validation != nil {
		c.result.Validation = &sets.Validation.Meta
	}
	return c.complete(&head)
}

// parts returns where the sets lie.
func parts(scratch *format.Space, sets *Sets) (parts []cachePart, err error) {
	for _, p := range []struct {
		name string
		set  *Set
	}{{trainPart, sets.Train}, {validationPart, sets.Validation}, {testPart, sets.Test}} {
		if p.set == nil {
			continue
		}
		offset, size := p.set.seg.Part()
		sum := checksum(p.set.seg.Bytes(), func(int) {
			if err == nil {
				err = scratch.Ctx.Err()
			}
		})
		parts = append(parts, cachePart{p.name, offset, size, sum})
	}
	return parts, err
}

// complete writes the head, and gives the file its name.
func (c *conversion) complete(head *cacheHead) error {
	text, err := json.Marshal(head)
	if err == nil && cacheHeadBytes+len(text) > shm.PartAlign {
		err = errors.New("the names of the files are too long")
	}
	f := c.o.files.Out
	var info os.FileInfo
	for _, step := range []func() error{
		func() error { return err },
		func() error {
			b := append(make([]byte, 0, cacheHeadBytes+len(text)), cacheMagic...)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
			b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, crc32c()))
			_, err := f.WriteAt(append(b, text...), 0)
			return err
		},
		func() error { return fault.Point("convert.sync") },
		func() error {
			if c.o.own {
				return nil
			}
			return f.Sync()
		},
		func() (err error) { info, err = f.Stat(); return err },
		c.o.files.Ctx.Err,
		func() error { return fault.Point("convert.rename") },
		func() error { return os.Rename(f.Name(), c.out) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("data: writing %s: %w", c.out, err)
		}
	}
	c.result.Bytes = info.Size()
	// Runs map it: no process shall write to it by mistake. Not earlier: the next conversion could not take
	// over a part that is read-only.
	_ = f.Chmod(info.Mode() &^ 0o222)
	if c.o.own {
		return nil
	}
	_ = atomicfile.SyncFolder(filepath.Dir(c.out))
	done := &cache{cacheHead: *head, file: f, sum: crc32.Checksum(text, crc32c())}
	done.remember()
	return nil
}
