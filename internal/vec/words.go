package vec

import "math"

// Words are the two tables of a model of words, each of rows of K numbers: how a word is looked up, and how it is
// predicted. Others may write them at the same time.
type Words struct {
	K       int
	In, Out []float32

	h, e, zero []float32 // K each
	x, o, g    []float32 // of Block: copies of its rows, and its coefficients
	stride     int       // of a copy
	plan       []float32 // of the loop: addresses
}

// NoTarget stands for a row that is left out.
const NoTarget = ^uint32(0)

func (w *Words) scratch() (h, e []float32) {
	if len(w.h) != w.K {
		for _, x := range []*[]float32{&w.h, &w.e, &w.zero} {
			*x = aligned(new([]float32), w.K)
		}
	}
	return w.h, w.e
}

// Fetch asks memory for the rows of a step that comes next, and does nothing else: the rows of a large table lie far
// away, and no processor foresees them. Call it before the step that comes first.
func (w *Words) Fetch(inputs, targets []uint32) {
	if use[LoopWords] != Plain && len(inputs) > 0 && len(targets) > 0 {
		w.fetchFast(inputs, targets)
	}
}

// Pair takes a step of one row of In against rows of Out, the first with the label 1, the others with 0. For each of
// them in turn:
//
//	x = in.out; g = (label - sigmoid(x)) lr; e += g out; out += g in
//
// and at last in += e. It returns the loss, the sum of -log sigmoid(+-x).
func (w *Words) Pair(input uint32, targets []uint32, lr float32) (loss float64) {
	one := [1]uint32{input}
	return w.Window(one[:], targets, lr)
}

// Window is Pair for each of the inputs, with a group of the targets each.
func (w *Words) Window(inputs, targets []uint32, lr float32) (loss float64) {
	if n := len(targets) / max(1, len(inputs)); w.fast(n) {
		return w.groups(nil, inputs, targets, n, lr, false)
	}
	_, e := w.scratch()
	for i, in := range inputs {
		in := row(w.In, int(in), w.K)[:w.K]
		loss += w.targets(in, group(targets, i, len(inputs)), lr, e)
		Axpy(1, e, in)
	}
	return loss
}

// group is the i-th of n groups.
func group(targets []uint32, i, n int) []uint32 { n = len(targets) / n; return targets[i*n : (i+1)*n] }

// most is how many losses the loop may add up at once: it multiplies numbers from 1 to 2.
const most = 1000

// logOf is log(p), p >= 1 or NaN, within 1e-7: p is m 2^n with m from 1/sqrt 2 to sqrt 2, and
// log m = 2 artanh((m-1)/(m+1)).
// math.Log takes as long as a tenth of a step.
func logOf(p float64) float64 {
	const half = 0x3fe6a09e667f3bcd // the bits of 1/sqrt 2
	b := math.Float64bits(p)
	if b >= 0x7ff<<52 {
		return p
	}
	n := int64(b-half) >> 52
	m := math.Float64frombits(b - uint64(n)<<52)
	s := (m - 1) / (m + 1)
	q := s * s
	return float64(n)*math.Ln2 + 2*s*(1+q*(1./3+q*(1./5+q*(1./7))))
}

// fast reports whether the loop takes groups of n targets.
func (w *Words) fast(n int) bool { return use[LoopWords] != Plain && 0 < n && n <= most }

// groups steps each of the inputs against a group of n targets, or none of them. Where h is not nil it stands for the
// input, and its move is left in e.
func (w *Words) groups(h []float32, inputs, targets []uint32, n int, lr float32,
	onlyLoss bool) (loss float64) {
	w.scratch()
	for at := 0; n > 0 && at < len(targets); {
		count := min(most/n, (len(targets)-at)/n)
		var in []uint32
		if h == nil {
			in = inputs[at/n : at/n+count]
		}
		linear, product := w.stepsFast(h, in, count, targets[at:at+count*n], n, lr, onlyLoss)
		loss += linear + logOf(product)
		at += count * n
	}
	if !(loss <= math.MaxFloat64) {
		clear(w.zero) // the loop adds 0 times rows to it
	}
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

// Bag is Pair with the mean of the inputs; each of these is moved by all of e.
func (w *Words) Bag(inputs, targets []uint32, lr float32) (loss float64) {
	h, e := w.scratch()
	GatherRows(w.In, w.K, inputs, 1/float32(len(inputs)), h)
	if w.fast(len(targets)) {
		loss = w.groups(h, nil, targets, len(targets), lr, false)
	} else {
		loss = w.targets(h, targets, lr, e)
	}
	ScatterRows(w.In, w.K, inputs, 1, e)
	return loss
}

// Block steps each of the inputs against all targets, by the values that all had before:
//
//	G = (labels - sigmoid(In Out')) lr; In += G Out; Out += G' In
//
// (Ji, Satish, Li, Dubey 2016, "Parallelizing word2vec in shared and distributed memory".)
func (w *Words) Block(inputs, targets []uint32, lr float32) (loss float64) {
	if use[LoopWords] != Plain && len(inputs) > 0 && len(targets) > 0 {
		return w.blockFast(inputs, targets, lr)
	}
	return w.blockGo(inputs, targets, lr)
}

func (w *Words) blockGo(inputs, targets []uint32, lr float32) (loss float64) {
	m, n, k := len(inputs), len(targets), w.K
	x, o := aligned(&w.x, m*k), aligned(&w.o, n*k)
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

// aligned returns n numbers, which begin with a cache line if they are longer than one: Go's allocator aligns powers of
// two.
func aligned(x *[]float32, n int) []float32 {
	size := 1 << 10
	for size < n {
		size *= 2
	}
	if len(*x) < n {
		*x = make([]float32, size)
	}
	return (*x)[:n]
}

// Loss returns the loss of a window, without a step: of Window, where the targets are a group for each input, else of
// Block; or of Bag.
func (w *Words) Loss(inputs, targets []uint32, group int, bag bool) (loss float64) {
	h, _ := w.scratch()
	if bag {
		GatherRows(w.In, w.K, inputs, 1/float32(len(inputs)), h)
		if w.fast(len(targets)) {
			return w.groups(h, nil, targets, len(targets), 0, true)
		}
		return w.lossOf(h, targets)
	}
	for i, in := range inputs {
		t := targets[:group]
		if len(targets) > group {
			t = targets[i*group : (i+1)*group]
		}
		if w.fast(group) {
			one := [1]uint32{in}
			loss += w.groups(nil, one[:], t, group, 0, true)
		} else {
			loss += w.lossOf(row(w.In, int(in), w.K)[:w.K], t)
		}
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
	h = h[:k]
	clear(h)
	if use[LoopRows] != Plain && len(idx) > 0 {
		checkRows(idx, w, k)
		gatherFast(w, k, idx, h)
	} else {
		for _, j := range idx {
			Axpy(1, row(w, int(j), k)[:k], h)
		}
	}
	Scale(a, h)
}

// ScatterRows adds a times e (k numbers) to rows of w.
func ScatterRows(w []float32, k int, idx []uint32, a float32, e []float32) {
	e = e[:k]
	if use[LoopRows] != Plain && len(idx) > 0 {
		checkRows(idx, w, k)
		scatterFast(w, k, idx, a, e)
		return
	}
	for _, j := range idx {
		Axpy(a, e, row(w, int(j), k)[:k])
	}
}
