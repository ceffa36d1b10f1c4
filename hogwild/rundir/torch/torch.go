// Package torch reads the tensors of a file that PyTorch's torch.save has written: a state_dict, or a
// checkpoint that has one. It executes nothing: a pickle is a program, and of its calls only those that
// make tensors and dictionaries are known here. All others end the reading. What it allocates is bounded
// by the size of the file, whatever the numbers in it promise.
//
//	torch.go   Read: the archive and its entries
//	pickle.go  the machine that reads a pickle
//	dict.go    which of the values is the state_dict
//	call.go    the calls that it knows
//	value.go   dictionaries and literals
package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"hogwild/hogwild/rundir/tensor"
)

const (
	zipMagic    = "PK\x03\x04"
	pickleMagic = "\x80"                                                     // protocol 2 and later
	legacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" // before torch 1.6
	mostPickle  = 16 << 20                                                   // bytes; a tensor takes about 300
	oldFormat   = "is in the format of torch before 1.6: load it there, and save it with torch 1.6 or later"
)

// Is reports whether a file begins as those of torch.save do. The length of a header of safetensors may begin with the
// byte of a pickle; a brace follows it.
func Is(file []byte) bool {
	pickle := bytes.HasPrefix(file, []byte(pickleMagic)) && !(len(file) > 8 && file[8] == '{')
	return pickle || bytes.HasPrefix(file, []byte(zipMagic))
}

// archive is the entries of the zip file that torch.save writes: data.pkl, and each storage in data/KEY.
type archive struct {
	file    []byte
	entries map[string]*zip.File
	checked bool // its checksums are those of its entries: torch can be told to write none
}

// Read is the tensors of the state_dict, in its order. They are views of the file.
func Read(file []byte) ([]tensor.Tensor, error) {
	switch {
	case bytes.HasPrefix(file, []byte(legacyMagic)):
		return nil, errors.New(oldFormat)
	case !bytes.HasPrefix(file, []byte(zipMagic)):
		return nil, errors.New("is a pickle, and not an archive of torch.save: " + Advice)
	}
	a, err := open(file)
	if err != nil {
		return nil, err
	}
	text, err := a.pickle()
	if err != nil {
		return nil, err
	}
	m := machine{text: text, memo: map[int]any{}, storage: a.storage}
	top, err := m.run()
	if err != nil {
		return nil, err
	}
	return stateDict(top)
}

// open reads the directory of the archive.
func open(file []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("is damaged or not an archive: %w", err)
	}
	a := &archive{file: file, entries: map[string]*zip.File{}}
	folder := ""
	for _, f := range z.File {
		if dir, ok := strings.CutSuffix(f.Name, "data.pkl"); ok && (dir == "" || strings.Count(dir, "/") == 1) {
			folder = dir
		}
	}
	total := uint64(0)
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, folder)
		if !ok || a.entries[name] != nil {
			return nil, fmt.Errorf("is not an archive of torch.save: entry %.100q", f.Name)
		}
		if total += f.CompressedSize64; f.CompressedSize64 > uint64(len(file)) || total > uint64(len(file)) {
			return nil, errors.New("is damaged: its entries are longer than the file")
		}
		a.entries[name] = f
	}
	return a, nil
}

// pickle is the pickle of the archive.
func (a *archive) pickle() ([]byte, error) {
	f := a.entries["data.pkl"]
	if f == nil {
		return nil, errors.New("is an archive without data.pkl, and not one of torch.save")
	}
	if f.CompressedSize64 > mostPickle {
		return nil, fmt.Errorf("has a pickle of %d MiB, and a state_dict needs less than %d: %s",
			f.CompressedSize64>>20, mostPickle>>20, Advice)
	}
	text, err := a.entry("data.pkl")
	if err != nil {
		return nil, err
	}
	a.checked = crc32.ChecksumIEEE(text) == f.CRC32
	order, err := a.entry("byteorder") // older versions have none
	if a.entries["byteorder"] != nil && (err != nil || string(order) != "little") {
		return nil, fmt.Errorf(
			"was saved by a machine with byte order %.20q: save it on one with little-endian numbers", order)
	}
	return text, nil
}

// entry is the bytes of an entry. torch.save compresses none.
func (a *archive) entry(name string) ([]byte, error) {
	f := a.entries[name]
	if f == nil {
		return nil, fmt.Errorf("is damaged: it has no entry %.100q", name)
	}
	from, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("is damaged: entry %.100q: %w", name, err)
	}
	size := int64(f.CompressedSize64)
	if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 {
		return nil, fmt.Errorf("is not an archive of torch.save: entry %.100q is compressed", name)
	}
	if from < 0 || from > int64(len(a.file))-size {
		return nil, fmt.Errorf("is damaged: entry %.100q ends behind the file", name)
	}
	data := a.file[from : from+size : from+size]
	if a.checked && crc32.ChecksumIEEE(data) != f.CRC32 {
		return nil, fmt.Errorf("is damaged: entry %.100q has another checksum", name)
	}
	return data, nil
}

// storage is the bytes of the storage of a key.
func (a *archive) storage(key string) ([]byte, error) { return a.entry("data/" + key) }
