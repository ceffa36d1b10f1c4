package get

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"hogwild/hogwild/data/catalog"
)

// unpack writes the files that the part gives, under their new names, and returns where they are. Names come from
// the catalogue, not from the archive, so nothing is written outside the folder.
func (j *job) unpack(ctx context.Context, p *part) (files map[string]string, err error) {
	files = map[string]string{}
	if j.Pack == catalog.Plain {
		files[j.Name] = p.path
		return files, nil
	}
	packed := &watched{Reader: io.NewSectionReader(p.f, 0, p.have), ctx: ctx, step: Step{j.Name, Unpacking, 0, p.have}, watch: j.Watch}
	switch j.Pack {
	case catalog.BZip2:
		err = j.unpackBZip2(packed)
	case catalog.Zip:
		err = j.unpackZip(ctx, p)
	case catalog.CIFAR10:
		err = j.unpackCIFAR10(packed)
	}
	var disk *fs.PathError
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &disk):
		err = localError{err}
	case err != nil: // another download may be better
		err = errors.Join(err, p.restart("", ""))
	}
	for _, name := range j.Gives() {
		files[name] = newName(j.path(name))
		if err != nil {
			os.Remove(files[name])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", j.Name, err)
	}
	return files, nil
}

// watched is a reader that tells how far it is, and ends when ctx does.
type watched struct {
	io.Reader
	ctx   context.Context
	step  Step
	watch func(Step)
}

func (w *watched) Read(b []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.Reader.Read(b)
	w.step.Done += int64(n)
	w.watch(w.step)
	return n, err
}

// bounded copies what an archive unpacks to, which may not be more than the catalogue says.
func (j *job) bounded(to io.Writer, from io.Reader) (int64, error) {
	n, err := io.Copy(to, io.LimitReader(from, j.Most+1))
	if err == nil && n > j.Most {
		err = fmt.Errorf("it unpacks to more than %s bytes", count(j.Most))
	}
	return n, err
}

func (j *job) unpackBZip2(packed io.Reader) error {
	lines := &lineCounter{}
	err := writeNew(j.dir, j.Gives()[0], func(f *os.File) error {
		_, err := j.bounded(io.MultiWriter(f, lines), bzip2.NewReader(packed))
		return err
	})
	if err == nil && j.Rows > 0 && lines.n != int64(j.Rows) {
		err = fmt.Errorf("it has %s rows, the published file has %s", count(lines.n), count(int64(j.Rows)))
	}
	return err
}

// lineCounter counts the lines that are written to it.
type lineCounter struct{ n int64 }

func (l *lineCounter) Write(b []byte) (int, error) {
	l.n += int64(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}

func (j *job) unpackZip(ctx context.Context, p *part) error {
	archive, err := zip.NewReader(io.NewSectionReader(p.f, 0, p.have), p.have)
	if err != nil {
		return err
	}
	for _, m := range j.Take {
		if err := j.takeOut(ctx, archive, m); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return nil
}

// takeOut unpacks one file of an archive.
func (j *job) takeOut(ctx context.Context, archive *zip.Reader, m catalog.Member) error {
	for _, f := range archive.File {
		if f.Name != m.Path || !f.Mode().IsRegular() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		from := &watched{Reader: r, ctx: ctx, step: Step{m.Name, Unpacking, 0, int64(f.UncompressedSize64)}, watch: j.Watch}
		return writeNew(j.dir, m.Name, func(to *os.File) error {
			_, err := j.bounded(to, from)
			return err
		})
	}
	return fmt.Errorf("the archive has no such file")
}
