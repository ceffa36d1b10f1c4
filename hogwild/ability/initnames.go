package ability

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// axis is what the places along a dimension of a tensor stand for in this run: each is known by its name.
type axis struct {
	what    string // in the plural
	from    []int  // where each place is in the file; -1: it is new
	were    int    // places in the file
	names   int    // of this run; hashed sequences of words are places without one
	taken   int    // names that are in the file, too
	outputs bool   // else inputs: of weights without one of these nothing is left to be used
}

// match finds the names of this run among the file's.
func match[T comparable](what string, now, was []T) *axis {
	place := make(map[T]int, len(was))
	for i, name := range was {
		place[name] = i
	}
	a := &axis{what: what, from: make([]int, len(now)), were: len(was), names: len(now)}
	for i, name := range now {
		at, known := place[name]
		if a.from[i] = at; !known {
			a.from[i] = -1
			continue
		}
		a.taken++
	}
	return a
}

// axes are the axes of a model on its data.
type axes struct{ words, columns, classes, rows, items *axis }

// axesOf finds those that this run's data and the data of the file both have names for.
func axesOf(now, was *data.Meta) (a axes) {
	switch {
	case now.Text != nil && was.Text != nil:
		a.words = match("words", now.Text.Vocabulary.Words, was.Text.Vocabulary.Words)
		for i := range now.Text.Buckets {
			at := a.words.were + i
			if now.Text.Buckets != was.Text.Buckets {
				at = -1
			}
			a.words.from = append(a.words.from, at)
		}
		a.words.were += was.Text.Buckets
	case now.Entries() && was.Entries() && len(now.IDs) == len(was.IDs):
		mine, theirs := nodesOf(now), nodesOf(was)
		if a.rows = match("nodes", mine[0], theirs[0]); len(mine) == 2 {
			a.rows.what = "row ids"
			a.items = match("column ids", mine[1], theirs[1])
		}
	case now.Columns != nil && was.Columns != nil:
		a.columns = match("columns", now.Columns, was.Columns)
	case now.Format == "libsvm" && was.Format == "libsvm":
		first := map[bool]int{false: 1}
		a.columns = match("features", numbers(now.Features, first[now.ZeroBased()]),
			numbers(was.Features, first[was.ZeroBased()]))
	}
	if len(now.Classes) > 0 && len(was.Classes) > 0 {
		a.classes = match("classes", now.Classes, was.Classes)
		a.classes.outputs = true
	}
	return a
}

// nodesOf returns the ids of a matrix's rows and of its columns, or of a graph's nodes. Ids that are numbers
// are kept as runs: a first one, and how many follow one another.
func nodesOf(m *data.Meta) (sides [][]string) {
	switch {
	case m.Columns != nil && m.Shape != nil:
		return [][]string{m.Columns[:m.Shape[0]], m.Columns[m.Shape[0]:]}
	case m.Columns != nil:
		return [][]string{m.Columns}
	}
	for _, runs := range m.IDs {
		var ids []string
		for i := 0; i+1 < len(runs); i += 2 {
			for n := range runs[i+1] {
				ids = append(ids, strconv.FormatUint(uint64(runs[i]+n), 10))
			}
		}
		sides = append(sides, ids)
	}
	return sides
}

// numbers returns n numbers, from first on.
func numbers(n, first int) []int {
	all := make([]int, n)
	for j := range all {
		all[j] = first + j
	}
	return all
}

// of returns the axes of the first two dimensions of a tensor; nil: its places have numbers alone.
func (a *axes) of(ps []model.Param, p model.Param, m *data.Meta) (first, second *axis) {
	last := ps[len(ps)-1].Name
	layer := func(name string) string { return name[:strings.LastIndexByte(name, '.')+1] }
	switch {
	case p.Name == "user.weight" || p.Name == "user.bias" || p.Name == "node.weight":
		return a.rows, nil
	case p.Name == "item.weight" || p.Name == "item.bias":
		return a.items, nil
	case a.words != nil && (p.Name == "in.weight" || m.Words()):
		return a.words, nil
	}
	if layer(p.Name) == layer(last) && a.classes != nil {
		if first = a.classes; p.Shape[0] == 1 && first.names == 2 && first.were == 2 {
			first = first.side()
		}
	}
	if p.Name == ps[0].Name && len(p.Shape) == 2 && p.Shape[1] == m.Features {
		second = a.columns
	}
	return first, second
}

// places returns where the features are in the file; nil: they have no names.
func (a *axis) places() []int {
	if a == nil {
		return nil
	}
	return a.from
}

// side returns the axis of the one output that tells two classes apart: only both of them together can be taken.
func (a *axis) side() *axis {
	one := &axis{from: []int{-1}, were: 1, outputs: true}
	if slices.Equal(a.from, []int{0, 1}) {
		one.from[0] = 0
	} else {
		a.taken = 0
	}
	return one
}

// takeByName writes the tensors of the file anew, in the order of this run's words, columns, classes and ids. What is
// new keeps its first values. The line says how many there are of each.
func takeByName(r *core.Run, f *rundir.Weights) (line string, a axes, err error) {
	if f.Saved == nil || r.Job.Asked.Layout != nil {
		return "", a, nil // names of others are not known
	}
	now, was := r.Task.Train.Meta, &f.Saved.Meta
	if now.Text != nil && was.Text != nil {
		own := *now.Text
		own.Vocabulary, now.Text = r.Task.Train.Vocabulary(), &own
		if was.Text.Vocabulary == nil {
			return "", a, config.Usage("init: %s: its words are missing: keep words.txt of the run beside it", f.Path)
		}
	}
	a = axesOf(&now, was)
	used, cells := map[*axis]bool{}, 0
	for i, t := range f.Tensors() {
		k := slices.IndexFunc(r.Task.Params, func(p model.Param) bool { return p.Name == t.Name })
		if k < 0 || len(t.Shape) == 0 || len(t.Shape) != len(r.Task.Params[k].Shape) {
			continue
		}
		first, second := a.of(r.Task.Params, r.Task.Params[k], &now)
		if first == nil && second == nil {
			continue
		}
		n, fits, err := take(r, f, i, r.Task.Params[k], first, second)
		if err != nil {
			return "", a, err
		}
		if cells += n; fits {
			used[a.classes] = used[a.classes] || first != nil && first.outputs
			used[first], used[second] = true, true
		}
	}
	return a.told(f, used, cells)
}

// take writes a tensor anew, and says how many values it has from the file. One whose other dimensions do not fit stays
// as it is: Fit refuses it.
func take(r *core.Run, f *rundir.Weights, i int, p model.Param, first, second *axis) (cells int, fits bool, err error) {
	t, shape := f.Tensors()[i], append(slices.Clone(p.Shape), 1)
	numbered := func(n int) *axis { return &axis{from: numbers(n, 0), were: n} }
	first, second = cmp.Or(first, numbered(shape[0])), cmp.Or(second, numbered(shape[1]))
	were := append(slices.Clone(t.Shape), 1)
	if were[0] != first.were || were[1] != second.were || !slices.Equal(were[2:], shape[2:]) ||
		shape[0] != len(first.from) || shape[1] != len(second.from) {
		return 0, false, nil
	}
	v, err := t.Floats()
	if err != nil {
		return 0, false, config.Usage("%s: %w", f.Path, err)
	}
	k := slices.IndexFunc(r.Task.Trained, func(q model.Param) bool { return q.Name == p.Name })
	at := model.Offsets(r.Task.Trained)[k]
	own := model.Export(r.Task.Trained[k:k+1], r.Mem.Weights.W[at:at+p.Len()])[0]
	block := p.Len() / (shape[0] * shape[1])
	for i, from := range first.from {
		for j, column := range second.from {
			if from < 0 || column < 0 {
				continue
			}
			cells += copy(own[(i*shape[1]+j)*block:][:block], v[(from*were[1]+column)*block:])
		}
	}
	f.Tensors()[i] = rundir.FloatTensor(t.Name, p.Shape, own)
	return cells, true, nil
}

// told returns what was taken, in words. It refuses weights if nothing of them fits.
func (a *axes) told(f *rundir.Weights, used map[*axis]bool, cells int) (string, axes, error) {
	var parts, none []string
	inputs, taken := 0, 0
	for _, x := range []*axis{a.words, a.columns, a.rows, a.items, a.classes} {
		if x == nil || !used[x] {
			continue
		}
		part := fmt.Sprintf("%s of %s %s", human.Count(int64(x.taken)), human.Count(int64(x.names)), x.what)
		if x.taken < x.names {
			part += fmt.Sprintf(" (%s new)", human.Count(int64(x.names-x.taken)))
		}
		if parts = append(parts, part); x.taken == 0 {
			none = append(none, x.what)
		}
		if !x.outputs {
			inputs, taken = inputs+1, taken+x.taken
		}
	}
	switch {
	case len(parts) == 0:
		return "", *a, nil
	case cells == 0 || inputs > 0 && taken == 0:
		return "", *a, config.Usage("init: %s was trained on other data: it has none of this run's %s; name weights "+
			"that have some of them, or leave init out", f.Path, strings.Join(none, " and "))
	}
	return "init: taken by name: " + strings.Join(parts, ", "), *a, nil
}

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
