// Package catalog lists the public data sets that `hogwild data get` knows: where their files are, how to check them,
// and under which terms they may be used. It downloads nothing, so that the readers of data can name the sets.
//
// Top down:
//
//	sets.go     the table
//	catalog.go  what an entry says
package catalog

import "strings"

// Set is a public data set.
type Set struct {
	Name  string   // of the set, and of the folder with its files
	About string   // rows x features, classes
	Terms []string // licence or terms of use, a sentence each
	Cite  string   // the publication to cite
	Page  string   // describes the set
	Train string   // flags of `hogwild train` that suit it, after --data NAME
	Files []File
}

// File is one file to download.
type File struct {
	Name string   // in the set's folder; that of an archive is deleted once it is unpacked
	URLs []string // of the same bytes, tried in this order
	Size int64    // bytes; 0: not known
	Sum  string   // "sha256:HEX" or "md5:HEX"; "": not known
	Pack Pack
	Take []Member // Zip: the files to take out
	Rows int      // BZip2: lines that the unpacked text has; 0: not known
	Most int64    // bytes that the file unpacks to at most
}

// Pack says how a file is packed.
type Pack int

// The ways in which files are packed.
const (
	Plain   Pack = iota // to be used as it is; gzip is too, because every reader unpacks it
	BZip2               // one file, which loses the ending .bz2
	Zip                 // an archive
	CIFAR10             // the binary version of CIFAR-10, a tar.gz; becomes X_train.npy, y_train.npy, X_test.npy and y_test.npy
)

// Member is a file in an archive, and the name that it gets.
type Member struct{ Path, Name string }

// CIFAR10Files are the files that CIFAR10 unpacks to: images and classes of the training set, then of the test set.
var CIFAR10Files = []string{"X_train.npy", "y_train.npy", "X_test.npy", "y_test.npy"}

// Gives lists the files that are in the set's folder in the end.
func (f File) Gives() (names []string) {
	switch f.Pack {
	case BZip2:
		return []string{strings.TrimSuffix(f.Name, ".bz2")}
	case CIFAR10:
		return CIFAR10Files
	case Zip:
		for _, m := range f.Take {
			names = append(names, m.Name)
		}
		return names
	}
	return []string{f.Name}
}

// Size is the bytes to download; known is false if there are more, in files of unknown size.
func (s Set) Size() (bytes int64, known bool) {
	known = true
	for _, f := range s.Files {
		bytes += f.Size
		known = known && f.Size > 0
	}
	return bytes, known
}
