package vec

import "math"

// Words are the two tables of a model of words, each of rows of K numbers: how a word is looked up, and how it is
// predicted. Others may write them at the same time.
type Words struct {
	K       int
	In, Out []float32

	h, e []float32 // K each
}

// NoTarget stands for a row that is left out.
const NoTarget = ^uint32(0)

func (w *Words) scratch() (h, e []float32) {
	if len(w.h) != w.K {
		w.h, w.e = make([]float32, w.K), make([]float32, w.K)
	}
	return w.h, w.e
}

// Pair takes a step of one row of In against rows of Out, the first with the label 1, the others with 0. For each of them
// in turn:
//
//	x = in.out; g = (label - sigmoid(x)) lr; e += g out; out += g in
//
// and at last in += e. It returns the loss, the sum of -log sigmoid(+-x).
func (w *Words) Pair(input uint32, targets []uint32, lr float32) (loss float64) {
	_, e := w.scratch()
	in := row(w.In, int(input), w.K)[:w.K]
	loss = w.targets(in, targets, lr, e)
	Axpy(1, e, in)
	return loss
}

// targets steps the rows of Out by h, and sets e to what h is to be moved by.
func (w *Words) targets(h []float32, targets []uint32, lr float32, e []float32) (loss float64) {
	clear(e)
	for i, t := range targets {
		if t == NoTarget {
			continue
		}
		out := row(w.Out, int(t), w.K)[:w.K]
		x := Dot(h, out)
		g, l := LogisticPair(x, i == 0)
		loss += l
		Axpy(g*lr, out, e)
		Axpy(g*lr, h, out)
	}
	return loss
}

// LogisticPair is label - sigmoid(x), and the loss -log sigmoid(+-x).
func LogisticPair(x float32, label bool) (g float32, loss float64) {
	z := float64(x)
	if !label {
		z = -z
	}
	loss = math.Max(-z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
	g = float32(1 / (1 + math.Exp(z)))
	if !label {
		g = -g
	}
	return g, loss
}

// Window is Pair for each of the inputs, with a group of the targets each.
func (w *Words) Window(inputs, targets []uint32, lr float32) (loss float64) {
	n := len(targets) / max(1, len(inputs))
	for i, in := range inputs {
		loss += w.Pair(in, targets[i*n:(i+1)*n], lr)
	}
	return loss
}

// Bag is Pair with the mean of the inputs; each of these is moved by all of e.
func (w *Words) Bag(inputs, targets []uint32, lr float32) (loss float64) {
	h, e := w.scratch()
	GatherRows(w.In, w.K, inputs, 1/float32(len(inputs)), h)
	loss = w.targets(h, targets, lr, e)
	ScatterRows(w.In, w.K, inputs, 1, e)
	return loss
}

// Block steps each of the inputs against all targets, by the values that all had before:
//
//	G = (labels - sigmoid(In Out')) lr; In += G Out; Out += G' In
//
// (Ji, Satish, Li, Dubey 2016, "Parallelizing word2vec in shared and distributed memory".)
func (w *Words) Block(inputs, targets []uint32, lr float32) (loss float64) {
	m, n, k := len(inputs), len(targets), w.K
	x, o := make([]float32, m*k), make([]float32, n*k)
	for i, in := range inputs {
		copy(x[i*k:(i+1)*k], row(w.In, int(in), k))
	}
	for j, t := range targets {
		if t != NoTarget {
			copy(o[j*k:(j+1)*k], row(w.Out, int(t), k))
		}
	}
	for i, in := range inputs {
		for j, t := range targets {
			if t == NoTarget {
				continue
			}
			g, l := LogisticPair(Dot(x[i*k:(i+1)*k], o[j*k:(j+1)*k]), j == 0)
			loss += l
			Axpy(g*lr, o[j*k:(j+1)*k], row(w.In, int(in), k)[:k])
			Axpy(g*lr, x[i*k:(i+1)*k], row(w.Out, int(t), k)[:k])
		}
	}
	return loss
}

// Loss is that of a window, without a step: of Window, where the targets are a group for each input, else of Block; or of
// Bag.
func (w *Words) Loss(inputs, targets []uint32, group int, bag bool) (loss float64) {
	h, _ := w.scratch()
	if bag {
		GatherRows(w.In, w.K, inputs, 1/float32(len(inputs)), h)
		return w.lossOf(h, targets)
	}
	for i, in := range inputs {
		t := targets[:group]
		if len(targets) > group {
			t = targets[i*group : (i+1)*group]
		}
		loss += w.lossOf(row(w.In, int(in), w.K)[:w.K], t)
	}
	return loss
}

func (w *Words) lossOf(h []float32, targets []uint32) (loss float64) {
	for i, t := range targets {
		if t != NoTarget {
			_, l := LogisticPair(Dot(h, row(w.Out, int(t), w.K)[:w.K]), i == 0)
			loss += l
		}
	}
	return loss
}

// GatherRows sets h (k numbers) to a times the sum of rows of w.
func GatherRows(w []float32, k int, idx []uint32, a float32, h []float32) {
	clear(h[:k])
	for _, j := range idx {
		Axpy(a, row(w, int(j), k)[:k], h[:k])
	}
}

// ScatterRows adds a times e (k numbers) to rows of w.
func ScatterRows(w []float32, k int, idx []uint32, a float32, e []float32) {
	for _, j := range idx {
		Axpy(a, e[:k], row(w, int(j), k)[:k])
	}
}
