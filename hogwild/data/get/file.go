package get

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// there reports whether the files are in a folder that f gives. What is not unpacked is compared with the checksum.
func (f File) there(dir string) (bool, error) {
	for _, name := range f.Gives() {
		file, err := atomicfile.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer file.Close()
		if f.Sum == "" || name != f.Name {
			continue
		}
		if _, err := f.check(file); err != nil {
			return false, fmt.Errorf("is there already, and is %w: move it away, or name another folder with --dir", err)
		}
	}
	return true, nil
}

// get downloads a file to a folder, checks and unpacks it.
func (g *Getter) get(ctx context.Context, dir string, f File) error {
	path := filepath.Join(dir, f.Name+".part")
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o666) // a link could lead anywhere
	if err != nil {
		return err
	}
	defer part.Close()
	if err := g.fetch(ctx, f, part); err != nil {
		have := size(part)
		if have == 0 {
			os.Remove(path)
			return err
		}
		return fmt.Errorf("%w (%s of %s are kept in %s, where the same command continues)", err, Bytes(have), f.Name, path)
	}
	if f.Gives()[0] == f.Name {
		return g.name(part, filepath.Join(dir, f.Name))
	}
	err = g.unpack(ctx, dir, f, contents(part))
	if disk := (diskError{}); err == nil || ctx.Err() == nil && !errors.As(err, &disk) { // else the same command unpacks it
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// name gives a part its name, once the disk has it.
func (g *Getter) name(part *os.File, path string) error {
	if err := part.Sync(); err != nil {
		return err
	}
	if err := fault.Point("download.rename"); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), path); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

// check compares a file with its checksum, or only its size where none is published. It returns what the checksum is.
func (f File) check(r io.Reader) (sum string, err error) {
	kind, h := "sha256", sha256.New()
	if len(f.Sum) == 2*md5.Size {
		kind, h = "md5", md5.New()
	}
	n, err := io.Copy(h, r)
	sum = hex.EncodeToString(h.Sum(nil))
	switch {
	case err != nil:
		return sum, err
	case n == 0:
		return sum, errors.New("an empty file")
	case f.Sum != "" && sum != f.Sum:
		return sum, fmt.Errorf("another file: its %s is %s, not %s", kind, sum, f.Sum)
	case f.Sum == "" && f.Size > 0 && n != f.Size:
		return sum, fmt.Errorf("another file: it has %s bytes, not %s", human.Count(n), human.Count(f.Size))
	}
	return sum, nil
}
