package get

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data/catalog"
	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// run downloads the file unless it is there, and says whether it did.
func (j *job) run(ctx context.Context) (fresh bool, err error) {
	recorded := map[string]string{}
	if j.own {
		if recorded, err = readSums(j.dir); err != nil {
			return false, err
		}
	}
	if there, err := j.there(recorded); there || err != nil {
		return false, err
	}
	p, err := openPart(j.path(j.Name))
	if err != nil {
		return false, err
	}
	defer p.close()
	if err := j.room(p); err != nil {
		return false, err
	}
	before := p.have
	if err := j.fetch(ctx, p); err != nil {
		return false, j.keeps(ctx, p, err)
	}
	j.Watch(Step{j.Name, Whole, p.have - min(before, p.have), p.have})
	return true, j.place(ctx, p, recorded)
}

// there tells whether the files are there that j gives. It is an error if one is, and is another than it should be.
func (j *job) there(recorded map[string]string) (bool, error) {
	missing := false
	for _, name := range j.Gives() {
		if _, err := os.Lstat(j.path(name)); errors.Is(err, fs.ErrNotExist) {
			missing = true
			continue
		}
		want := recorded[name]
		if want != "" {
			want = "sha256:" + want
		}
		if j.Pack == catalog.Plain && j.Sum != "" {
			want = j.Sum
		}
		if want == "" {
			return false, localError{fmt.Errorf("%s is there already, and no checksum tells what it is: move it away, or name another folder with --dir", j.path(name))}
		}
		got, err := sumsOf(j.path(name))
		if err != nil {
			return false, localError{err}
		}
		if !got.match(want) {
			return false, localError{fmt.Errorf("%s is there already, and is not the file that is published (its sha256 is %s): move it away, or name another folder with --dir", j.path(name), got.sha256)}
		}
	}
	return !missing, nil
}

// room refuses a download that does not fit on the disk.
func (j *job) room(p *part) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(j.dir, &fs); err != nil {
		return nil // the write will tell
	}
	if free, need := int64(fs.Bavail)*fs.Bsize, j.Size-p.have; need > free {
		return localError{fmt.Errorf("%s needs %s more, and the disk of %s has %s free: make room, or name another folder with --dir",
			j.Name, Bytes(need), human.Name(j.dir), Bytes(free))}
	}
	return nil
}

// keeps says of an error that what is there stays for the next time.
func (j *job) keeps(ctx context.Context, p *part, err error) error {
	var local localError
	if p.have == 0 || !errors.As(err, &local) && ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w (%s of %s are kept in %s, where the same command continues)", err, Bytes(p.have), j.Name, p.path)
}

// place gives the files that j gives their names.
func (j *job) place(ctx context.Context, p *part, recorded map[string]string) error {
	files, err := j.unpack(ctx, p)
	if err == nil {
		err = j.record(files, recorded)
	}
	if err != nil {
		return err
	}
	for name, at := range files {
		err := fault.Point("download.rename")
		if err == nil {
			err = os.Rename(at, j.path(name))
		}
		if err != nil {
			return localError{err}
		}
	}
	if err := atomicfile.SyncFolder(j.dir); err != nil {
		return localError{err}
	}
	return p.remove()
}

// record writes down the checksums of files before they have their names: a file with its name and without a
// checksum would be taken for one of the user's.
func (j *job) record(files, recorded map[string]string) error {
	for name, at := range files {
		got, err := sumsOf(at)
		if err != nil {
			return localError{err}
		}
		if first := recorded[name]; first != "" && first != got.sha256 {
			return localError{fmt.Errorf("%s is not what was downloaded the first time: sha256 %s, %s has %s; delete its line there to accept the new file", name, got.sha256, j.path(sumsName), first)}
		}
		recorded[name] = got.sha256
		switch {
		case j.Sum != "":
		case j.own:
			j.Note(fmt.Sprintf("%s: no checksum is published for it; its sha256 is recorded in %s", name, j.path(sumsName)))
		default:
			j.Note(fmt.Sprintf("%s: not compared with a checksum; its sha256 is %s", name, got.sha256))
		}
	}
	if !j.own {
		return nil
	}
	return writeSums(j.dir, recorded)
}
