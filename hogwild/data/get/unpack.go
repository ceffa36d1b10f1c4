package get

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/atomicfile"
)

// unpack writes the files that f gives. Their names come from the table, not from the archive, so nothing is written
// outside the folder.
func (g *Getter) unpack(ctx context.Context, dir string, f File, packed *io.SectionReader) (err error) {
	switch {
	case f.Take == nil:
		err = g.write(ctx, filepath.Join(dir, f.Gives()[0]), bzip2.NewReader(packed), 0)
	case f.Take[0].Path == "":
		err = g.unpackCIFAR10(ctx, dir, packed)
	default:
		err = g.unpackZip(ctx, dir, f.Take, packed)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("unpacking it: %w", err)
	}
	return err
}

// write unpacks a file, which has its name once it is whole.
func (g *Getter) write(ctx context.Context, path string, from io.Reader, size int64) error {
	to, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer to.Abandon()
	err = transfer(ctx, to, from, 0, size,
		func(done, total int64) { g.Progress("unpacking "+filepath.Base(path), done, total) })
	if err != nil {
		return err
	}
	return to.Commit()
}

func (g *Getter) unpackZip(ctx context.Context, dir string, take []Member, packed *io.SectionReader) error {
	archive, err := zip.NewReader(packed, packed.Size())
	if err != nil {
		return err
	}
	for _, m := range take {
		from, err := archive.Open(m.Path)
		if err != nil {
			return err
		}
		defer from.Close()
		info, err := from.Stat()
		if err != nil {
			return err
		}
		if err := g.write(ctx, filepath.Join(dir, m.Name), from, info.Size()); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return nil
}

// unpackCIFAR10 makes arrays of the batches of CIFAR-10's binary version: n x 3 x 32 x 32 bytes of images, n of
// classes.
func (g *Getter) unpackCIFAR10(ctx context.Context, dir string, packed io.Reader) error {
	const record = 1 + 3*32*32 // the class, then red, green and blue
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	batches := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if batches[path.Base(head.Name)], err = io.ReadAll(archive); err != nil {
			return err
		}
	}
	for set, prefix := range map[string]string{"train": "data_batch_", "test": "test_batch"} {
		images, classes := []io.Reader{nil}, []byte(nil)
		for _, name := range slices.Sorted(maps.Keys(batches)) {
			for b := batches[name]; strings.HasPrefix(name, prefix) && len(b) >= record; b = b[record:] {
				images, classes = append(images, bytes.NewReader(b[1:record])), append(classes, b[0])
			}
		}
		n := len(classes)
		images[0] = bytes.NewReader(data.NPYHead("|u1", []int{n, 3, 32, 32}))
		if err := g.write(ctx, filepath.Join(dir, "X_"+set+".npy"), io.MultiReader(images...), 0); err != nil {
			return err
		}
		y := append(data.NPYHead("|u1", []int{n}), classes...)
		if err := g.write(ctx, filepath.Join(dir, "y_"+set+".npy"), bytes.NewReader(y), 0); err != nil {
			return err
		}
	}
	return nil
}
