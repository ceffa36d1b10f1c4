// Package atomicfile writes files that exist whole or not at all, and refuses to replace files of another kind. It
// reads plain files alone: no pipe, no device.
//
//	write.go   a file from its parts
//	kind.go    what may be replaced
//	read.go    plain files
//	file.go    a file that is being written
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hogwild/internal/fault"
)

// Ending ends the names of files that are being written. A process that is killed leaves one.
const Ending = ".tmp"

// Volatile is set by a process whose files are gone with it: they do not wait for the disk.
var Volatile bool

// File is a file that is being written. It has its name when Commit has returned nil. All is done in the folder in
// which it was created, also when that has another name by then.
type File struct {
	*os.File
	dir       *os.File
	path      string
	temporary string // its name until then; "": it is written in place
}

// Create makes a temporary file next to path. It neither follows a link nor writes to a file that is there.
func Create(path string) (*File, error) { return create(path, nil) }

// create is Create in a folder that has to be within, unless that is nil.
func create(path string, within fs.FileInfo) (*File, error) {
	if err := fault.Point("file.create"); err != nil {
		return nil, err
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	f := &File{dir: os.NewFile(uintptr(dir), filepath.Dir(path)), path: path}
	if now, err := f.dir.Stat(); within != nil && (err != nil || !os.SameFile(now, within)) {
		f.dir.Close()
		return nil, f.error("create", errors.New("the folder is another one now"))
	}
	f.temporary = fmt.Sprintf("%s.%08x%s", filepath.Base(path), rand.Uint32(), Ending)
	fd, err := unix.Openat(dir, f.temporary, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		f.dir.Close()
		return nil, f.error("create", err)
	}
	f.File = os.NewFile(uintptr(fd), path)
	return f, nil
}

// Replace is Create for a file that a user has named: what is there and no plain file, such as a pipe, is written in
// place.
func Replace(path string) (*File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		return Create(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	return &File{File: f, path: path}, err
}

func (f *File) error(what string, err error) error {
	return &fs.PathError{Op: what, Path: f.path, Err: err}
}

// Commit gives the file its name, once the disk has confirmed the content, and waits until it has confirmed the name
// too.
func (f *File) Commit() error { return f.commit(Options{}) }

func (f *File) commit(o Options) error {
	if f.temporary == "" {
		return f.File.Close()
	}
	defer f.Abandon() // of what has its name nothing is left to remove
	o.Quick = o.Quick || Volatile
	if !o.Quick {
		if err := fault.Point("file.sync"); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.File.Close(); err != nil {
		return err
	}
	dir := int(f.dir.Fd())
	if o.Ready != nil {
		if err := o.Ready(dir); err != nil {
			return err
		}
	}
	if err := fault.Point("file.rename"); err != nil {
		return err
	}
	if err := unix.Renameat(dir, f.temporary, dir, filepath.Base(f.path)); err != nil {
		return f.error("rename", err)
	}
	if o.Quick {
		return nil
	}
	return syncFolder(dir)
}

// Abandon closes the file and, before Commit, removes it. After Commit it does nothing.
func (f *File) Abandon() {
	_ = f.File.Close()
	if f.temporary != "" {
		_ = unix.Unlinkat(int(f.dir.Fd()), f.temporary, 0) // of a closed folder it fails
		_ = f.dir.Close()
	}
}

// Options say how WriteAs differs from Write.
type Options struct {
	Within fs.FileInfo         // nothing is written to another folder, which may have got the name; nil: any
	Ready  func(dir int) error // is called with the open folder before the file takes the name
	Quick  bool                // it does not wait for the disk
}

func syncFolder(dir int) error {
	if err := fault.Point("file.folder"); err != nil {
		return err
	}
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) { // write permission is enough to save
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
