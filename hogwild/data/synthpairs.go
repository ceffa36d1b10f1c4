package data

import (
	"math"

	"hogwild/hogwild/data/format"
)

// matrixMaker makes entries of a matrix of low rank, at places drawn with repetition:
// sums of products of normal factors, of deviation 1, and noise of deviation 0.1. As
// ratings they are stars from 1 to 5, with the mean, the deviation and the skew of
// Netflix' (the most rated film has 0.23% of all ratings, the busiest user 0.018%).
type matrixMaker struct {
	rows, columns, entries, rank int
	ratings                      bool
}

func (k matrixMaker) meta() Meta {
	n := k.rows + k.columns
	return Meta{Rows: k.entries, Features: n, Nonzeros: 2 * int64(k.entries), Kind: Pairs,
		Shape: []int{k.rows, k.columns},
		IDs:   [][]uint32{{0, uint32(k.rows)}, {0, uint32(k.columns)}}}
}

func (k matrixMaker) tests() int { return sixth(k.entries) }

func (k matrixMaker) make(budget *format.Budget, m Meta, use, seed uint64) (*Set, error) {
	truth := k.truth(seed)
	place := k.places(seed)
	wide := k.rank + 1
	p := pairs{Meta: m, budget: budget, at: func(i int) (a, b uint32, y float32) {
		d := drawsOf(seed, use, i)
		a, b = place(&d)
		u, v := truth[int(a)*wide:][:wide], truth[int(b)*wide:][:wide]
		for c := range k.rank {
			y += float32(u[c] * v[c])
		}
		if !k.ratings {
			return a, b, y + float32(0.1*d.normal())
		}
		stars := 3.6 + float32(0.4*u[k.rank]) + 0.5*v[k.rank] + 0.5*y + float32(0.8*d.normal())
		return a, b, min(5, max(1, float32(math.Round(float64(stars)))))
	}}
	return p.store(false, 0)
}

// truth returns rank factors and one more number for each row and column.
func (k matrixMaker) truth(seed uint64) []float32 {
	n, wide := k.rows+k.columns, k.rank+1
	w := make([]float32, n*wide)
	scale := float32(1 / math.Sqrt(math.Sqrt(float64(k.rank))))
	parallel(0, n, func(from, to int) {
		for u := from; u < to; u++ {
			d, row := drawsOf(seed, forTruth, u), w[u*wide:(u+1)*wide]
			for c := range row {
				row[c] = d.normal() * scale
			}
			row[k.rank] /= scale
		}
	})
	return w
}

// places returns where entries lie: anywhere, or, as ratings, more often in some rows and
// columns, which lie anywhere.
func (k matrixMaker) places(seed uint64) func(d *draws) (a, b uint32) {
	if !k.ratings {
		return func(d *draws) (a, b uint32) { return uint32(d.below(k.rows)), uint32(k.rows + d.below(k.columns)) }
	}
	films, users := newZipf(k.rows, float64(k.rows)/222), newZipf(k.columns, float64(k.columns)/534)
	film, user := shuffled(allRows(k.rows), seed, forPlaces), shuffled(allRows(k.columns), seed, forPlaces)
	return func(d *draws) (a, b uint32) {
		return uint32(film[films.draw(d)]), uint32(k.rows + int(user[users.draw(d)]))
	}
}

// mentionMaker makes a graph of entities, each of one of ten kinds, and
// mentions of them. Each is tied to two entities that are there before it, the early
// ones more often, and by a stronger edge to its own kind, which four of five
// are. The first ten entities are the terminals.
type mentionMaker struct{ entities, mentions int }

const kinds = 10

func (k mentionMaker) meta() Meta {
	n, edges := k.entities+k.mentions, 2*(k.entities+k.mentions-kinds)
	return Meta{Rows: edges, Features: n, Nonzeros: 2 * int64(edges), Kind: Pairs, IDs: [][]uint32{{0, uint32(n)}}}
}

func (k mentionMaker) tests() int { return 0 }

func (k mentionMaker) make(budget *format.Budget, m Meta, _, seed uint64) (*Set, error) {
	p := pairs{Meta: m, budget: budget, at: func(i int) (a, b uint32, y float32) {
		v := kinds + i/2
		d := drawsOf(seed, forRows, i)
		x := d.uniform()
		of := int(x * x * float64(min(v, k.entities)/kinds))
		if d.below(5) > 0 { // its own kind
			return uint32(of*kinds + v%kinds), uint32(v), 0.5 + float32(d.uniform())/2
		}
		return uint32(of*kinds + d.below(kinds)), uint32(v), 0.1 + float32(0.4*float32(d.uniform()))
	}}
	return p.store(true, seed)
}

// gridMaker makes the graph of a volume: three bright balls in the dark, under noise.
// Each voxel is tied to the first or the second terminal, as it is bright or dark, and to
// its six neighbours, the more alike the stronger. Edges stay in the order of the
// volume, in which near ones share voxels.
type gridMaker struct{ x, y, z int }

func (k gridMaker) meta() Meta {
	n := k.x * k.y * k.z
	edges := n + (k.x-1)*k.y*k.z + k.x*(k.y-1)*k.z + k.x*k.y*(k.z-1)
	return Meta{Rows: edges, Features: n + 2, Nonzeros: 2 * int64(edges), Kind: Pairs,
		IDs: [][]uint32{{0, uint32(n + 2)}}}
}

func (k gridMaker) tests() int { return 0 }

func (k gridMaker) make(budget *format.Budget, m Meta, _, seed uint64) (*Set, error) {
	n := k.x * k.y * k.z
	// Neighbours along an axis of one voxel fewer: step is how far they lie apart.
	axes := []struct{ x, y, z, step int }{{k.x - 1, k.y, k.z, 1}, {k.x, k.y - 1, k.z, k.x},
		{k.x, k.y, k.z - 1, k.x * k.y}}
	p := pairs{Meta: m, budget: budget, at: func(i int) (a, b uint32, y float32) {
		if i < n {
			b := k.bright(i, seed)
			terminal := uint32(0)
			if b < 0 {
				terminal, b = 1, -b
			}
			return terminal, uint32(2 + i), 1 + min(9, float32(int(3*b)))
		}
		i -= n
		for _, s := range axes {
			if edges := s.x * s.y * s.z; i >= edges {
				i -= edges
				continue
			}
			v := i%s.x + k.x*(i/s.x%s.y+k.y*(i/s.x/s.y))
			apart := float64(k.bright(v, seed) - k.bright(v+s.step, seed))
			return uint32(2 + v), uint32(2 + v + s.step), float32(math.Ceil(10 * math.Exp(-apart*apart/2)))
		}
		panic("data: an edge beyond the last")
	}}
	return p.store(false, 0)
}

// bright returns more than 0 inside the balls, as far as the noise leaves it.
func (k gridMaker) bright(v int, seed uint64) float32 {
	d := drawsOf(seed, forRows, v)
	side := float32(-1)
	for _, c := range [3][4]float32{{.3, .35, .4, .18}, {.65, .6, .3, .22}, {.5, .5, .75, .2}} {
		x := float32(v%k.x)/float32(k.x) - c[0]
		y := float32(v/k.x%k.y)/float32(k.y) - c[1]
		z := float32(v/k.x/k.y)/float32(k.z) - c[2]
		if float32(x*x)+float32(y*y)+float32(z*z) < c[3]*c[3] {
			side = 1
		}
	}
	return side + d.normal()
}
