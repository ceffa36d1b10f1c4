package data

import (
	"encoding/binary"

	"hogwild/shm"
)

// array is an array in the segment of a set.
type array interface {
	define(l *shm.Layout)
	view(seg *shm.Segment) error
	fits() bool // it has as many elements as its shape says

	// Of what belongs to rows, else nothing:
	size() int                // bytes
	flush(from, to int) error // writes rows of a file that is being made, and lets go of their memory
	fetch(from, to int)       // has the kernel read rows, and does not wait for them
	scatter() error           // tells the kernel that the next page is not the one that is read next
}

// arrayOf is an array of T, which v points to.
type arrayOf[T shm.Element] struct {
	name  string
	kind  shm.Kind
	v     *[]T
	shape []int
	width int      // elements a row; 0: they belong to no row
	ptr   *[]int64 // where rows begin, if they are of different lengths; else nil
}

// ofRows returns an array of one element a row, or of a second dimension.
func ofRows[T shm.Element](name string, kind shm.Kind, v *[]T, shape ...int) *arrayOf[T] {
	return &arrayOf[T]{name, kind, v, shape, append(shape, 1)[1], nil}
}

func ofFeatures(name string, v *[]float32, d int) array {
	return &arrayOf[float32]{name: name, kind: shm.F32, v: v, shape: []int{d}}
}

func (a *arrayOf[T]) define(l *shm.Layout) { l.Add(a.name, a.kind, a.shape...) }

func (a *arrayOf[T]) view(seg *shm.Segment) (err error) {
	*a.v, err = shm.View[T](seg, a.name)
	return err
}

func (a *arrayOf[T]) fits() bool {
	n := 1
	for _, k := range a.shape {
		n *= k
	}
	return n == len(*a.v)
}

func (a *arrayOf[T]) size() int {
	if a.width == 0 {
		return 0
	}
	return len(*a.v) * binary.Size(*new(T))
}

// rows returns the elements of some rows.
func (a *arrayOf[T]) rows(from, to int) []T {
	if a.ptr != nil {
		return (*a.v)[(*a.ptr)[from]:(*a.ptr)[to]]
	}
	return (*a.v)[from*a.width : to*a.width]
}

func (a *arrayOf[T]) flush(from, to int) error { return shm.Flush(a.rows(from, to)) }

// Fetching is advice: where it is not taken, the rows are read when they are used.
func (a *arrayOf[T]) fetch(from, to int) { _ = shm.Fetch(a.rows(from, to)) }

func (a *arrayOf[T]) scatter() error {
	if a.width == 0 {
		return nil
	}
	return shm.Scattered(*a.v)
}
