package atomicfile

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"hogwild/internal/fault"
)

// Write makes the parts, in order, the content of a file. Two processes that do so at once leave the file of one of
// them; when it fails the old file is as it was.
func Write(path string, parts ...[]byte) error { return WriteAs(path, parts, Options{}) }

// WriteAs is Write with options.
func WriteAs(path string, parts [][]byte, o Options) error {
	f, err := create(path, o.Within)
	if err != nil {
		return err
	}
	defer f.Abandon()
	for _, p := range parts {
		if err := fault.Point("file.write"); err != nil {
			return err
		}
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	return f.commit(o)
}

// SyncFolder waits until the names in a folder are on the disk, where the file system can tell.
func SyncFolder(path string) error {
	dir, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(dir)
	return syncFolder(dir)
}
