package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a plain file to read it. A pipe, for whose writer it would wait, a device, which may never end, or a
// folder is an error.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New(what(info.Mode()) + ", not a file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// what a path leads to.
func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a pipe or socket"
}

// Read returns what a plain file holds: most bytes at most.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d KiB", most>>10)}
	}
	if err != nil {
		return nil, err
	}
	text := make([]byte, info.Size())
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it was cut in between
		err = nil
	}
	return text[:n], err
}
