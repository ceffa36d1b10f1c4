package program

import (
	"os"

	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/tuning"
)

// arrays are what a welcome says of shared memory, and the files in which that is.
type arrays struct{ files []*os.File }

// file adds a file, and returns its index.
func (a *arrays) file(f *os.File) *int {
	a.files = append(a.files, f)
	n := len(a.files) - 1
	return &n
}

// sets describes data sets, but for those that are only numbers of a program's own examples.
func (a *arrays) sets(sets map[string]*data.Set) (map[string]set, error) {
	all := map[string]set{}
	for name, s := range sets {
		if s == nil || s.OfProgram() {
			continue
		}
		d := set{File: *a.file(s.File()), Kind: string(s.Kind), Rows: s.Rows, Features: s.Features, Shape: s.Shape,
			Classes: len(s.Classes), Mul: s.Mul, Add: s.Add, Arrays: map[string]array{}}
		for name, at := range s.Offsets() {
			d.Arrays[name] = array{at}
		}
		all[name] = d
	}
	return all, nil
}

// of sets the places of the weights as a rank trains them.
func (a *arrays) of(w *welcome, m *control.Weights, job *tuning.Job, rank int, samples bool) error {
	file := a.file(m.Seg.File())
	at := func(name string, skip int) (place, error) {
		offset, err := m.Seg.Offset(name)
		return place{file, offset + int64(skip)}, err
	}
	weights, err := at("weights", 0)
	if err != nil {
		return err
	}
	w.Mode, w.Weights = "async", weights
	if job.Asked.Mode.Traits().Barrier {
		slot, err := at("slots", 4*rank*len(m.W))
		if err != nil {
			return err
		}
		if w.Mode, w.Gradients = "gradients", &slot; !job.Asked.AveragesGradients() {
			w.Mode, w.Weights, w.Gradients = "weights", slot, nil
		}
	}
	if samples {
		counts, err := at("counts", 0)
		if err != nil {
			return err
		}
		w.Clocks = &clocks{counts, job.Asked.Workers, 8 * control.RankWords}
	}
	return nil
}

// onGPU moves the weights of a welcome into memory of a GPU.
func (w *welcome) onGPU(g device.GPUMemory) {
	w.GPU = &gpu{g.UUID, g.Handle, g.Size}
	w.Weights = place{Offset: g.Weights}
	if w.Gradients != nil {
		w.Gradients = &place{Offset: g.Gradients}
	}
}
