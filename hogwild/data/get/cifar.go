package get

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"hogwild/hogwild/data/catalog"
)

// A record of CIFAR-10's binary version: the class, then 32 x 32 bytes of red, of green and of blue.
const (
	cifarPixels  = 3 * 32 * 32
	cifarClasses = 10
)

// cifarBatches are the files of the archive: the training set in five parts, and the test set.
var cifarBatches = [][]string{
	{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
	{"test_batch.bin"},
}

// unpackCIFAR10 writes the images as arrays of n x 3 x 32 x 32 bytes and the classes as arrays of n.
func (j *job) unpackCIFAR10(packed io.Reader) error {
	names := catalog.CIFAR10Files
	return writeNew(j.dir, names[0], func(trainImages *os.File) error {
		return writeNew(j.dir, names[2], func(testImages *os.File) error {
			classes, err := j.readCIFAR10(packed, []*os.File{trainImages, testImages})
			for i, y := range classes {
				if err == nil {
					err = writeNew(j.dir, names[2*i+1], func(f *os.File) error {
						_, err := f.Write(append(npyHead(len(y)), y...))
						return err
					})
				}
			}
			return err
		})
	})
}

// readCIFAR10 writes the images of the archive to two files, in the order of the batches, and returns
// the classes. The order of the files in the archive does not matter.
func (j *job) readCIFAR10(packed io.Reader, images []*os.File) (classes [][]byte, err error) {
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	archive, rows := tar.NewReader(io.LimitReader(zipped, j.Most)), 0 // rows of a batch
	classes = make([][]byte, len(images))
	seen := map[string]bool{}
	for {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		name := path.Base(head.Name)
		set, batch := whichBatch(name)
		if set < 0 || head.Typeflag != tar.TypeReg || seen[name] {
			continue
		}
		n := int(head.Size / (1 + cifarPixels))
		if rows == 0 {
			rows = n
			for i := range images {
				all := rows * len(cifarBatches[i])
				classes[i] = make([]byte, all)
				if _, err := images[i].Write(npyHead(all, 3, 32, 32)); err != nil {
					return nil, localError{err}
				}
			}
		}
		if n != rows || head.Size%(1+cifarPixels) != 0 {
			return nil, fmt.Errorf("%s has %s bytes, not %s records", name, count(head.Size), count(int64(rows)))
		}
		seen[name] = true
		if err := readBatch(archive, images[set], classes[set], batch*rows, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if want := len(cifarBatches[0]) + len(cifarBatches[1]); len(seen) != want {
		return nil, fmt.Errorf("it has %d of %d batches", len(seen), want)
	}
	return classes, nil
}

// whichBatch is the set, 0 or 1, and the batch in it, that a file is; -1: another file.
func whichBatch(name string) (set, batch int) {
	for set, names := range cifarBatches {
		for batch, n := range names {
			if n == name {
				return set, batch
			}
		}
	}
	return -1, 0
}

// readBatch copies n records, from row first of the set on.
func readBatch(from io.Reader, images *os.File, classes []byte, first, n int) error {
	at := int64(npyHeadSize) + int64(first)*cifarPixels
	to := bufio.NewWriterSize(io.NewOffsetWriter(images, at), 1<<20)
	record := make([]byte, 1+cifarPixels)
	for i := range n {
		if _, err := io.ReadFull(from, record); err != nil {
			return err
		}
		if record[0] >= cifarClasses {
			return fmt.Errorf("record %d has class %d, want 0 to %d", i+1, record[0], cifarClasses-1)
		}
		classes[first+i] = record[0]
		if _, err := to.Write(record[1:]); err != nil {
			return localError{err}
		}
	}
	if err := to.Flush(); err != nil {
		return localError{err}
	}
	return nil
}

// npyHeadSize is the size of npyHead, a multiple of 64 as NumPy makes it.
const npyHeadSize = 128

// npyHead is what stands before the elements of an array of bytes.
func npyHead(shape ...int) []byte {
	dimensions := ""
	for _, n := range shape {
		dimensions += fmt.Sprintf("%d, ", n)
	}
	if len(shape) > 1 {
		dimensions = strings.TrimSuffix(dimensions, ", ")
	}
	text := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }", strings.TrimSuffix(dimensions, " "))
	const magic = "\x93NUMPY\x01\x00"
	size := npyHeadSize - len(magic) - 2
	return fmt.Appendf(nil, "%s%c%c%-*s\n", magic, byte(size), byte(size>>8), size-1, text)
}
