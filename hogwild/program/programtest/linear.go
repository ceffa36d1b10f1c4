package programtest

import (
	"bufio"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"hogwild/shm"
)

// Features is how many inputs a row of the program's own data has.
const Features = 3

// Row returns an example of the program's own data: the numbers depend on the row alone.
func Row(i int) (x []float64, y float64) {
	x = make([]float64, Features)
	for j := range x {
		x[j] = math.Sin(float64(7*i + 3*j + i*j))
	}
	return x, 2*x[0] - x[1] + 0.5*x[2] + 0.25 + 0.1*math.Cos(float64(i*i))
}

// LeastSquares returns the best weights for n rows, the bias last: the normal equations' solution, which no program
// computes this way.
func LeastSquares(n int, row func(i int) (x []float64, y float64)) []float64 {
	a := make([][]float64, Features+1)
	for j := range a {
		a[j] = make([]float64, Features+2)
	}
	for i := range n {
		x, y := row(i)
		x = append(x, 1, y)
		for j := range a {
			for k := range a[j] {
				a[j][k] += x[j] * x[k]
			}
		}
	}
	for j := range a { // Gauss and Jordan; the matrix is positive definite
		for k := range a {
			if f := a[k][j] / a[j][j]; k != j {
				for l := range a[k] {
					a[k][l] -= f * a[j][l]
				}
			}
		}
	}
	w := make([]float64, len(a))
	for j := range w {
		w[j] = a[j][Features+1] / a[j][j]
	}
	return w
}

// program is a process that trains.
type program struct {
	socket *os.File
	lines  *bufio.Reader
	m      message // the welcome
	files  [][]byte
	w, g   []float32 // the weights, then the bias
	steps  uint64

	own       int  // rows of its own data set; 0: it trains on the run's
	scoreless bool // it has no function that evaluates
	measures  bool // it reports more than losses, and is told of the ends of epochs
	chunks    int  // taken
	trick     func(p *program, here string) error
}

// row returns an example of a set.
func (p *program) row(name string, i int) (x []float64, y float64) {
	if p.own > 0 {
		return Row(i)
	}
	s := p.m.Data[name]
	for _, v := range p.floats(place{s.File, s.Arrays["x"].Offset}, s.Rows*s.Features)[i*s.Features:][:s.Features] {
		x = append(x, float64(v))
	}
	return x, float64(p.floats(place{s.File, s.Arrays["y"].Offset}, s.Rows)[i])
}

// error returns the difference of a prediction, and the inputs with the bias's.
func (p *program) error(set string, i int) (e float64, x []float64) {
	x, y := p.row(set, i)
	x = append(x, 1)
	for j, v := range x {
		e += v * float64(p.w[j])
	}
	return e - y, x
}

func (p *program) train(rows []int, rates []float64) object {
	loss, absolute, staleness := 0.0, 0.0, []uint64{}
	steps := 0
	count := &p.w[len(p.w)-1]
	*count = float32(math.Round(float64(*count))) // a mean of integers may be off by a rounding
	for batch := range slices.Chunk(rows, p.m.Batch) {
		before := p.others()
		g := make([]float64, len(p.w)-1)
		for _, i := range batch {
			e, x := p.error("train", i)
			loss += e * e / 2
			absolute += math.Abs(e)
			for j, v := range x {
				g[j] += e * v / float64(len(batch))
			}
		}
		for j := range g {
			g[j] += p.m.L2 * float64(p.w[j])
			if p.g != nil {
				p.g[j] = float32(g[j])
			} else {
				p.w[j] -= float32(rates[steps] * g[j])
			}
		}
		steps++
		if p.g != nil { // what a buffer becomes
			p.g[len(p.g)-1] = *count + 1
		} else {
			*count++
		}
		staleness = append(staleness, p.others()-before)
		p.took()
	}
	trained := object{"examples": len(rows), "steps": steps, "loss": loss, "staleness": staleness}
	if p.measures {
		trained["own_rate"] = true
		trained["metrics"] = object{"absolute": []any{absolute, len(rows)}, "nan": []any{"nan", 1}}
	}
	return object{"trained": trained}
}

// end has the largest error on a set, which is no mean.
func (p *program) end(set string, rows int) object {
	most := 0.0
	for i := range rows {
		e, _ := p.error(set, i)
		most = max(most, math.Abs(e))
	}
	return object{"ended": object{"metrics": object{"most": most, "inf": "inf"}}}
}

// clock returns a rank's clock.
func (p *program) clock(rank int) *uint64 {
	c := p.m.Clocks
	return &shm.Numbers[uint64](p.files[c.File][c.Offset+int64(rank*c.Stride):][:8])[0]
}

// took counts a step.
func (p *program) took() {
	if p.m.Clocks != nil {
		atomic.AddUint64(p.clock(p.m.Rank), 1)
	}
}

// others counts the steps that the other ranks have taken.
func (p *program) others() (sum uint64) {
	if p.m.Clocks == nil {
		return 0
	}
	for rank := range p.m.Clocks.Count {
		if rank != p.m.Rank {
			sum += atomic.LoadUint64(p.clock(rank))
		}
	}
	return sum
}

// score has the mean absolute error, and as accuracy the share of predictions with the right sign.
func (p *program) score(set string, from, to int) object {
	loss, absolute, right := 0.0, 0.0, 0
	for i := from; i < to; i++ {
		e, _ := p.error(set, i)
		_, y := p.row(set, i)
		loss += e * e / 2
		absolute += math.Abs(e)
		if (e+y > 0) == (y > 0) {
			right++
		}
	}
	return object{"scored": object{"examples": to - from, "loss": loss,
		"metrics": object{"accuracy": right, "mae": absolute}}}
}
