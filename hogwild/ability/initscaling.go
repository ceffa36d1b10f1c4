package ability

import (
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// rescale writes the first layer of the file anew, so that it makes of this run's inputs what it made of the file's:
// with inputs m x + a there, w x' + b is w m x + (b + w a). What is new keeps its first values. It reports whether it
// could: convolutions pad with zeros, which are no inputs that have been moved.
func rescale(r *core.Run, f *rundir.Weights, by *axes) (bool, error) {
	now, was := &r.Task.Train.Meta, &f.Saved.Meta
	if len(r.Task.Params) < 2 || len(r.Task.Params[0].Shape) != 2 || r.Task.Params[0].Shape[1] != now.Features ||
		!slices.Equal(r.Task.Params[1].Shape, r.Task.Params[0].Shape[:1]) {
		return false, nil
	}
	var place [2]int // of the layer's weights and biases in the file
	var v [2][]float32
	for k, p := range r.Task.Params[:2] {
		place[k] = slices.IndexFunc(f.Tensors(), func(t rundir.Tensor) bool { return t.Name == p.Name })
		if place[k] < 0 || !slices.Equal(f.Tensors()[place[k]].Shape, p.Shape) {
			return false, nil
		}
		var err error
		if v[k], err = f.Tensors()[place[k]].Floats(); err != nil {
			return false, config.Usage("%s: %w", f.Path, err)
		}
	}
	outputs, _ := by.of(r.Task.Params, r.Task.Params[0], now)
	columns := by.columns.places()
	for i := range v[1] {
		if outputs != nil && outputs.from[i] < 0 {
			continue
		}
		row, moved := v[0][i*now.Features:][:now.Features], float64(v[1][i])
		for j, w := range row {
			at := j
			if columns != nil {
				at = columns[j]
			}
			if at >= 0 {
				mul, add := data.Rescaled(now, j, was, at)
				row[j] = float32(float64(w) * mul)
				moved += float64(w) * add
			}
		}
		v[1][i] = float32(moved)
	}
	for k, p := range r.Task.Params[:2] {
		f.Tensors()[place[k]] = rundir.FloatTensor(p.Name, p.Shape, v[k])
	}
	return true, nil
}
