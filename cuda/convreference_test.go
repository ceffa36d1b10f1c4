//go:build cuda

package cuda

import (
	"math"
	"testing"

	"hogwild/hogwild/model"
)

// A convolutional network in float64, by the definitions. Operands of the convolutions' products are rounded to tf32
// if a problem says so.

// plane is inputs or outputs of a convolution: [channels][height][width].
type plane struct {
	channels, height, width int
	v                       []float64
}

func newPlane(channels, height, width int) *plane {
	return &plane{channels, height, width, make([]float64, channels*height*width)}
}

func (p *plane) at(c, i, j int) *float64 { return &p.v[(c*p.height+i)*p.width+j] }

// mask is what dropout multiplies a unit with: hogwild/model/dropout.go.
func mask(key uint64, layer, unit int, rate float64) float64 {
	bits := splitMix(splitMix(key+uint64(layer))+uint64(unit/4+1)*0x9e3779b97f4a7c15) >> (unit % 4 * 16)
	if bits&0xffff < uint64(rate*(1<<16)) {
		return 0
	}
	return float64(float32(1 / (1 - rate)))
}

func splitMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// convLayer is a convolution of one sample.
type convLayer struct {
	s            *convSample
	in, out      *plane
	w, b, gw, gb []float64 // [out][in][kernel][kernel]; b is nil without biases
	kernel, pool int
	scale        []float64 // of each channel: dropout's
	from         [][2]int  // of each output the place that the pooling took
	inner        bool      // another one follows
}

// each calls f with the taps of output o at a place: of the weight and of the input.
func (l *convLayer) each(o, i, j int, f func(w int, x *float64, v float64)) {
	for c := range l.in.channels {
		for y := range l.kernel {
			for k := range l.kernel {
				at := ((o*l.in.channels+c)*l.kernel+y)*l.kernel + k
				f(at, l.in.at(c, i+y, j+k), l.s.operand(*l.in.at(c, i+y, j+k)))
			}
		}
	}
}

// forward computes the outputs: the largest of each window, dropout, ReLU.
func (l *convLayer) forward() {
	out := l.out
	for n := range out.v {
		o, i, j := n/(out.height*out.width), n/out.width%out.height*l.pool, n%out.width*l.pool
		best := math.Inf(-1)
		var from [2]int
		for q := range l.pool * l.pool {
			y, k := i+q/l.pool, j+q%l.pool
			z := 0.0
			if l.b != nil {
				z = l.b[o]
			}
			l.each(o, y, k, func(w int, _ *float64, x float64) { z += l.s.operand(l.w[w]) * x })
			if z > best {
				best, from = z, [2]int{y, k}
			}
		}
		l.from = append(l.from, from)
		if out.v[n] = max(0, best*l.scale[o]); l.inner {
			out.v[n] = l.s.operand(out.v[n])
		}
	}
}

// backward takes the deltas of the outputs back to the inputs.
func (l *convLayer) backward(d []float64) []float64 {
	back := newPlane(l.in.channels, l.in.height, l.in.width)
	for n, v := range d {
		o := n / (l.out.height * l.out.width)
		if l.out.v[n] <= 0 {
			continue
		}
		v = l.s.operand(v * l.scale[o])
		i, j := l.from[n][0], l.from[n][1]
		l.each(o, i, j, func(w int, _ *float64, x float64) { l.gw[w] += v * x })
		if l.gb != nil {
			l.gb[o] += v
		}
		in := l.in
		l.in = back
		l.each(o, i, j, func(w int, x *float64, _ float64) { *x += v * l.s.operand(l.w[w]) })
		l.in = in
	}
	return back.v
}

// fullLayer is a fully connected layer of one sample, with ReLU and dropout but for the last.
type fullLayer struct {
	in, out, scale []float64
	w, b, gw, gb   []float64 // [out][in]; b is nil without biases
	last           bool
}

func (l *fullLayer) forward() {
	for o := range l.out {
		for j, v := range l.in {
			l.out[o] += l.w[o*len(l.in)+j] * v
		}
		if l.b != nil {
			l.out[o] += l.b[o]
		}
		if !l.last {
			l.out[o] = max(0, l.out[o]) * l.scale[o]
		}
	}
}

func (l *fullLayer) backward(d []float64) []float64 {
	back := make([]float64, len(l.in))
	for o, v := range d {
		if v *= l.scale[o]; !l.last && l.out[o] <= 0 {
			continue
		}
		for j, x := range l.in {
			l.gw[o*len(l.in)+j] += v * x
			back[j] += v * l.w[o*len(l.in)+j]
		}
		if l.gb != nil {
			l.gb[o] += v
		}
	}
	return back
}

// gradient returns the gradient of a step, and the loss summed over its rows.
func (s *convSample) gradient(w []float64, rows []int32) (g []float64, loss float64) {
	g = make([]float64, len(w))
	for _, row := range rows {
		loss += s.addGradient(w, g, row, 1/float64(len(rows)))
	}
	return g, loss
}

// addGradient adds share of a row's to g, and returns its loss.
func (s *convSample) addGradient(w, g []float64, row int32, share float64) float64 {
	n, id, at := s.spec.Net, row, 0
	if s.numbered {
		id = s.ids[row]
	}
	key := splitMix(splitMix(splitMix(convSeed)+convEpoch) + uint64(id))
	next := func(count int) (part, gradient []float64) {
		at += count
		return w[at-count : at], g[at-count : at]
	}
	x := &plane{n.Channels, n.Height, n.Width, s.sample.input(row)}
	for i, v := range x.v {
		x.v[i] = float64(float32(v))
	}
	var convs []*convLayer
	for i, c := range n.Convs {
		l := &convLayer{s: s, in: x, kernel: c.Kernel, pool: c.Pool, inner: i < len(n.Convs)-1}
		l.out = newPlane(c.Out, (x.height-c.Kernel+1)/c.Pool, (x.width-c.Kernel+1)/c.Pool)
		if l.w, l.gw = next(c.Out * x.channels * c.Kernel * c.Kernel); !s.nobias {
			l.b, l.gb = next(c.Out)
		}
		for o := range c.Out {
			l.scale = append(l.scale, mask(key, i, o, c.Drop))
		}
		l.forward()
		convs, x = append(convs, l), l.out
	}
	widths, drops := []int{len(x.v)}, []float64{}
	for _, h := range n.Hidden {
		widths, drops = append(widths, h.Width), append(drops, h.Drop)
	}
	units, widths := [][]float64{x.v}, append(widths, s.spec.Outputs)
	var layers []*fullLayer
	for i, out := range widths[1:] {
		l := &fullLayer{in: units[i], out: make([]float64, out), last: i == len(drops)}
		if l.w, l.gw = next(len(l.in) * out); !s.nobias {
			l.b, l.gb = next(out)
		}
		for o := range out {
			l.scale = append(l.scale, 1)
			if !l.last {
				l.scale[o] = mask(key, len(convs)+i, o, drops[i])
			}
		}
		l.forward()
		layers, units = append(layers, l), append(units, l.out)
	}
	whole := *s.sample
	whole.k = s.spec.Outputs
	loss, d := whole.losses(units[len(units)-1], s.y[row])
	for i := range d {
		d[i] *= share
	}
	for i := len(layers) - 1; i >= 0; i-- {
		d = layers[i].backward(d)
	}
	for i := len(convs) - 1; i >= 0; i-- {
		d = convs[i].backward(d)
	}
	return loss
}

// TestConvReference compares it with hogwild/model.
func TestConvReference(t *testing.T) {
	for i, p := range convProblems {
		s := drawConv(t, p, uint64(i))
		rows := s.rows[s.start[0]:s.start[1]]
		var gradient model.Gradient
		want := s.model.Grad(s.w, s.batch(rows), &gradient)
		g, loss := s.gradient(widen(s.w), rows)
		zeros := make([]float64, len(g))
		s.convCloseTo(t, "loss", []float32{float32(want)}, []float64{loss}, zeros)
		s.convCloseTo(t, "gradient", gradient.Parts[0].G, g, zeros)
	}
}
