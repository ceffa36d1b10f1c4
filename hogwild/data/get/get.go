// Package get downloads public data sets. A file has its name only when it is whole and its checksum is right: until then
// its bytes are in NAME.part, where an interrupted download continues. It knows nothing of terminals: a caller watches.
// Only one file of the command names this package, so that both can be taken away.
//
// Top down:
//
//	get.go     sets and single files
//	file.go    one file: is it there, download, check, give it its name
//	unpack.go  bzip2, zip and CIFAR-10
//	fetch.go   requests, from the first missing byte on
//	copy.go    bytes from a server or an archive to the disk
//	sets.go    the table of sets
package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
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

// New is a Getter that downloads to a folder, which need not be there; "": the current one.
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
	name, err := nameOf(address)
	if err != nil {
		return Result{}, err
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
	if err != nil {
		return nil, err
	}
	// Some network disks have no locks: then two downloads at once spoil a part, which the checksum finds.
	for waits := false; errors.Is(unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK); waits = true {
		if !waits {
			g.Note(fmt.Sprintf("another download works in %s: waiting for it", human.Name(dir)))
		}
		select {
		case <-ctx.Done():
			folder.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return folder, nil
}

// nameOf is the name of the file at an address.
func nameOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", config.Usage("no address of a file: %s; want https://HOST/PATH/FILE", human.Quote(address))
	}
	name := path.Base(u.Path)
	if strings.HasSuffix(u.Path, "/") || strings.HasPrefix(name, ".") || human.Name(name) != name {
		return "", config.Usage("no address of a file: %s does not end with the name of a file", human.Quote(address))
	}
	return name, nil
}
