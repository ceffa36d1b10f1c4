package rundir

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hogwild/internal/fault"
)

// temporaryEnding ends the names of files that are being written. One that a killed process left is
// removed by the next run in the folder: see removeLeftovers.
const temporaryEnding = ".tmp"

// ReplaceFile makes the parts, in order, the content of a file: it writes them to a
// temporary file in the same folder, has the disk confirm it, and only then gives
// it the name. Two processes that do so at once leave the file of one of them.
func ReplaceFile(path string, parts [][]byte) error { return replaceFile(path, parts, nil, true) }

// replaceFile is ReplaceFile that calls ready, unless it is nil, before the new file takes the name. Without confirm it does
// not wait for the disk.
func replaceFile(path string, parts [][]byte, ready func() error, confirm bool) error {
	temporary := temporaryName(path)
	err := writeTemporary(temporary, parts, confirm)
	if err == nil && ready != nil {
		err = ready()
	}
	if err == nil {
		err = fault.Point("file.rename")
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // without it the old file is as it was
		return err
	}
	if !confirm {
		return nil
	}
	return syncFolder(filepath.Dir(path))
}

// temporaryName is a name beside path that nobody else uses.
func temporaryName(path string) string {
	return fmt.Sprintf("%s.%08x%s", path, rand.Uint32(), temporaryEnding)
}

// writeTemporary writes a new file and, with confirm, waits until it is on the disk. It neither follows a link nor
// writes to a file that is there.
func writeTemporary(path string, parts [][]byte, confirm bool) error {
	if err := fault.Point("file.create"); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range parts {
		if err := fault.Point("file.write"); err != nil {
			return err
		}
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	if !confirm {
		return f.Close()
	}
	if err := fault.Point("file.sync"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// syncFolder waits until the names in a folder are on the disk, where the file system can tell.
func syncFolder(dir string) error {
	if err := fault.Point("file.folder"); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) { // write permission is enough to save
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
