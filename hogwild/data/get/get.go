// Package get downloads data sets. A file has its name only when it is whole and its checksum is right: until then its
// bytes are in NAME.part, where an interrupted download continues. It knows nothing of terminals: a caller watches.
//
// Top down:
//
//	get.go       sets and single files
//	file.go      one file: is it there, download, check, unpack
//	mirrors.go   mirrors in order, and tries of each
//	transfer.go  one request, from the byte on that is missing
//	answer.go    what a server's answer means
//	unpack.go    bzip2 and zip
//	cifar.go     CIFAR-10 to .npy
//	sums.go      checksums, and SHA256SUMS
//	part.go      NAME.part, and where its bytes are from
//	folder.go    one download at a time in a folder, and new files in it
//	client.go    the HTTP client
//	getter.go    what all of these know: the Getter, the job on one file, kinds of errors
package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hogwild/hogwild/data/catalog"
	"hogwild/internal/human"
)

// New is a Getter that downloads to a folder, which need not be there; "": the current one. Nobody watches it
// until Watch and Note are set.
func New(dir, userAgent string) *Getter {
	return &Getter{
		Dir: cmp.Or(dir, "."), UserAgent: userAgent, Watch: func(Step) {}, Note: func(string) {},
		client: newClient(), stall: 30 * time.Second, pause: backOff, tries: 5,
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
func (g *Getter) Set(ctx context.Context, s catalog.Set) (Result, error) {
	r, err := g.files(ctx, filepath.Join(g.Dir, s.Name), s.Files, true)
	if err != nil && !strings.HasPrefix(err.Error(), s.Name+": ") { // a file may have the name of the set
		err = fmt.Errorf("%s: %w", s.Name, err)
	}
	return r, err
}

// URL downloads a file to Dir, by the name that its address ends with. Its checksum is a
// sha256 in hex; "": not known.
func (g *Getter) URL(ctx context.Context, address, sha256 string) (Result, error) {
	name, err := nameOf(address)
	if err != nil {
		return Result{}, err
	}
	f := catalog.File{Name: name, URLs: []string{address}}
	if sha256 != "" {
		f.Sum = "sha256:" + strings.ToLower(sha256)
	}
	return g.files(ctx, g.Dir, []catalog.File{f}, false)
}

// files downloads files to a folder. Only in a folder of its own are their checksums recorded.
func (g *Getter) files(ctx context.Context, dir string, files []catalog.File, own bool) (r Result, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r, localError{fmt.Errorf("making the folder: %w: name another one with --dir", err)}
	}
	unlock, err := g.lock(ctx, dir)
	if err != nil {
		return r, err
	}
	defer unlock()
	r.Folder = dir
	for _, f := range files {
		j := &job{Getter: g, File: f, dir: dir, own: own}
		fresh, err := j.run(ctx)
		if err != nil {
			return r, err
		}
		r.Fresh = r.Fresh || fresh
		for _, name := range f.Gives() {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return r, localError{err}
			}
			r.Files, r.Bytes = append(r.Files, name), r.Bytes+info.Size()
		}
	}
	return r, nil
}

// ErrAddress is an address of which no file can be downloaded.
var ErrAddress = errors.New("no address of a file")

// nameOf is the name of the file at an address.
func nameOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%w: %s; want https://HOST/PATH/FILE", ErrAddress, human.Quote(address))
	}
	name := path.Base(u.Path)
	if strings.HasSuffix(u.Path, "/") || name == "." || strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") || human.Name(name) != name {
		return "", fmt.Errorf("%w: %s does not end with the name of a file", ErrAddress, human.Quote(address))
	}
	return name, nil
}
