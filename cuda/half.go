//go:build cuda

package cuda

import (
	"unsafe"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/internal/half"
)

// Rows of factors may be stored in half precision: in the run's memory the first weights are then two bytes each, and
// the others floats, from the next whole word on. Elsewhere all are floats: in host memory, in files, and in the copy
// that is evaluated.

// halves is how many weights a run stores in half precision: all factors, or none.
func halves(s *device.Setup) int {
	if s.Job.Asked.Precision != config.FP16 {
		return 0
	}
	return s.Spec.Features * s.Spec.Widths[0]
}

// stored is how many bytes the weights take.
func (l *layout) stored() int64 { return 4 * int64(l.P-l.Halves/2) }

// bytesOf returns weights as they are stored, rounded to the nearest.
func (l *layout) bytesOf(w []float32) []byte {
	if l.Halves == 0 {
		return raw(l.Scatter.there(w, l.P))
	}
	b := make([]byte, l.stored())
	rows, others := l.split(b)
	for i, v := range w[:l.Halves] {
		rows[i] = half.Nearest(v)
	}
	copy(others, w[l.Halves:])
	return b
}

// read fills w with weights that fetch brings as they are stored.
func (l *layout) read(w []float32, fetch func([]byte) error) error {
	if l.Halves == 0 {
		return l.Scatter.back(w, l.P, func(v []float32) error { return fetch(raw(v)) })
	}
	b := make([]byte, l.stored())
	err := fetch(b)
	rows, others := l.split(b)
	for i, h := range rows {
		w[i] = half.Float(h)
	}
	copy(w[l.Halves:], others)
	return err
}

func (l *layout) split(b []byte) (rows []uint16, others []float32) {
	at := unsafe.SliceData(b)
	others = unsafe.Slice((*float32)(unsafe.Pointer(at)), l.stored()/4)
	return unsafe.Slice((*uint16)(unsafe.Pointer(at)), l.Halves), others[(l.Halves+1)/2:]
}

// uploadWeights copies weights to a run's memory, and downloadWeights from there.
func (m *memory) uploadWeights(w []float32) error { return upload(m.weights, m.layout.bytesOf(w)) }

func (m *memory) downloadWeights(w []float32) error {
	return m.layout.read(w, func(b []byte) error { return download(b, m.weights) })
}

// copyWeights copies them from there, or to it, on a stream that waits for no other.
func (m *memory) copyWeights(w []float32, to bool) error {
	switch {
	case to && m.mapped != nil: // in single precision
		m.mapped.set(numbers[float32](m.layout.bytesOf(w)))
		return nil
	case to:
		return copyAside(m.layout.bytesOf(w), m.weights, true)
	}
	return m.layout.read(w, func(b []byte) error {
		if m.mapped == nil {
			return copyAside(b, m.weights, false)
		}
		m.mapped.sum(numbers[float32](b))
		return nil
	})
}
