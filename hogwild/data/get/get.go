// Package get downloads public data sets. A file has its name only when it is whole and its checksum is right: until
// then its bytes are in NAME.part, where an interrupted download continues.
//
// Top down:
//
//	get.go     sets and files: what is there, what is checked, what gets its name
//	unpack.go  bzip2, zip and CIFAR-10
//	fetch.go   requests, from the first missing byte on
//	sets.go    the table of sets
package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// Getter downloads to a folder.
type Getter struct {
	Dir      string
	Progress func(what string, done, total int64) // bytes; total 0: not known. The two are equal once, at the end
	Note     func(line string)                    // something worth a line

	client *http.Client
	stall  time.Duration // without new bytes the connection is given up
}

// New returns a Getter that downloads to a folder, which need not be there; "": the current one.
func New(dir string) *Getter {
	return &Getter{
		Dir: cmp.Or(dir, "."), Progress: func(string, int64, int64) {}, Note: func(string) {},
		client: &http.Client{CheckRedirect: redirect}, stall: 30 * time.Second,
	}
}

// Result is what is there after a download.
type Result struct {
	Folder string // of the set
	Files  []string
	Bytes  int64 // of all files
	Fresh  bool  // something was downloaded
}

// Set downloads what is missing of a set to Dir/NAME.
func (g *Getter) Set(ctx context.Context, s Set) (Result, error) {
	return g.files(ctx, filepath.Join(g.Dir, s.Name), s.Files)
}

// URL downloads a file to Dir, by the name that its address ends with. Its checksum is a
// sha256 in hex; "": not known.
func (g *Getter) URL(ctx context.Context, address, sha256 string) (Result, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Result{}, config.Usage("no address of a file: %s; want https://HOST/PATH/FILE", human.Quote(address))
	}
	name := path.Base(u.Path)
	if strings.HasSuffix(u.Path, "/") || strings.HasPrefix(name, ".") || human.Name(name) != name {
		return Result{}, config.Usage("no address of a file: %s does not end with the name of a file",
			human.Quote(address))
	}
	return g.files(ctx, g.Dir, []File{{Name: name, URL: address, Sum: strings.ToLower(sha256)}})
}

// files downloads what is missing of files to a folder.
func (g *Getter) files(ctx context.Context, dir string, files []File) (Result, error) {
	r := Result{Folder: dir}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r, fmt.Errorf("making the folder: %w: name another one with --dir", err)
	}
	folder, err := g.lock(ctx, dir)
	if err != nil {
		return r, err
	}
	defer folder.Close()
	for _, f := range files {
		there, err := f.there(dir)
		if err == nil && !there {
			r.Fresh, err = true, g.get(ctx, dir, f)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", filepath.Join(dir, f.Name), err)
		}
		for _, name := range f.Gives() {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return r, err
			}
			r.Files, r.Bytes = append(r.Files, name), r.Bytes+info.Size()
		}
	}
	return r, nil
}

// lock waits until no other download works in a folder. It ends when the folder is closed.
func (g *Getter) lock(ctx context.Context, dir string) (*os.File, error) {
	folder, err := os.Open(dir)
	for waits := false; err == nil; waits = true {
		// some network disks have no locks
		if !errors.Is(unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
			return folder, nil
		}
		if !waits {
			g.Note(fmt.Sprintf("another download works in %s: waiting for it", human.Name(dir)))
		}
		select {
		case <-ctx.Done():
			err = errors.Join(context.Cause(ctx), folder.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, err
}

// there reports whether a folder has the files that f gives. What is not unpacked is compared with the checksum.
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
		if f.Sum != "" && name == f.Name {
			if _, err := f.check(file); err != nil {
				return false,
					fmt.Errorf("is there already, and is %w: move it away, or name another folder with --dir", err)
			}
		}
	}
	return true, nil
}

// get downloads a file to a folder, checks and unpacks it.
func (g *Getter) get(ctx context.Context, dir string, f File) error {
	path := filepath.Join(dir, f.Name+".part")
	// a link could lead anywhere
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := g.fetch(ctx, f, part); err != nil {
		have := contents(part).Size()
		if have == 0 {
			os.Remove(path)
			return err
		}
		return fmt.Errorf("%w (%s of %s are kept in %s, where the same command continues)", err,
			Bytes(have), f.Name, path)
	}
	if f.Gives()[0] == f.Name {
		return g.name(part, filepath.Join(dir, f.Name))
	}
	err = g.unpack(ctx, dir, f, contents(part))
	// else the same command unpacks it
	if disk := (*fs.PathError)(nil); err == nil || ctx.Err() == nil && !errors.As(err, &disk) {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// name gives a part its name, once the disk has it.
func (g *Getter) name(part *os.File, path string) error {
	err := part.Sync()
	if err == nil {
		err = fault.Point("download.rename")
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err == nil {
		err = atomicfile.SyncFolder(filepath.Dir(path))
	}
	return err
}

// Bytes returns a size for people: 9.91 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return human.Plural(int(n), "byte")
	}
	return human.Rate(float64(n)) + "B"
}
