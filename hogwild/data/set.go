package data

import "hogwild/shm"

// Row is the inputs of one example. With Idx nil it is dense: Val holds every
// feature. Otherwise Val[i] is the value of feature Idx[i], the indices are
// strictly increasing and every feature left out is zero. Rows are views: they
// may not be written, and hold until the next call of the Reader that made them.
type Row struct {
	Idx []uint32
	Val []float32
}

// Batch is b examples. Y holds one number an example: the class (0, 1, ...) or
// the value to be predicted.
type Batch struct {
	Rows     []Row
	Y        []float32
	Features int // d, the width of a dense row
}

// Meta says what a set is. It is stored with the set in shared memory and, as far
// as it is needed to read other data in the same way, with the weights.
type Meta struct {
	Name     string    `json:"name"`     // how the user named it: digits, or the path
	Format   string    `json:"format"`   // digits, idx, libsvm, csv, npy
	Rows     int       `json:"rows"`     // n
	Features int       `json:"features"` // d
	Nonzeros int64     `json:"nonzeros"`
	Kind     string    `json:"kind"`              // bytes, floats, sparse: how the inputs are stored
	Shape    []int     `json:"shape,omitempty"`   // of one example when it is an image: [28, 28]
	Columns  []string  `json:"columns,omitempty"` // names of the features, where the file has them
	Classes  []string  `json:"classes,omitempty"` // the labels as the file writes them; nil for regression
	Scale    string    `json:"scale"`             // auto, none, unit, standard or "MEAN,STD": what was asked
	Mul      []float32 `json:"mul,omitempty"`     // x' = x*Mul + Add; length 0 (nothing to do), 1 or d
	Add      []float32 `json:"add,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // what was done to the data that the user should know
	Checksum string    `json:"checksum"`        // sha256 of the file's bytes (hex), or of the generator's name and seed
}

// Set is a data set in one shared segment. Exactly one of X8, X and (Ptr, Idx, Val)
// is set, by Kind.
type Set struct {
	Meta
	X8  []uint8   // bytes:  n x d
	X   []float32 // floats: n x d, already scaled
	Ptr []int64   // sparse: n+1 offsets into Idx and Val
	Idx []uint32
	Val []float32 // already scaled
	Y   []float32 // n
	// Freq[j] is the share of rows in which feature j is not zero, never below 1/n.
	Freq []float32

	seg *shm.Segment
}
