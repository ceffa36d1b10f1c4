package nodes_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hogwild/hogwild/nodes"
)

// together runs a function as each node of a job.
func together(t *testing.T, n int, node func(nodes.Engine) error) {
	t.Helper()
	var all sync.WaitGroup
	for _, e := range nodes.InProcess(n, 10*time.Second) {
		all.Go(func() {
			if err := node(e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// meet carries out one round, and returns what the node adds to its weights.
func meet(e nodes.Engine, o *nodes.Outer, s []float32, examples float64) ([]float32, error) {
	total := []float64{examples}
	if err := e.Sum(total); err != nil {
		return nil, err
	}
	sum, err := e.Memory(len(s))
	if err != nil {
		return nil, err
	}
	o.Difference(sum, s, examples)
	if err := e.SumWeights(len(s)); err != nil {
		return nil, err
	}
	o.Step(sum, total[0])
	to := make([]float32, len(s))
	o.Correction(to, s)
	return to, nil
}

// quadratic is what node i minimises: sum_j curvature_ij (w_j - centre_ij)^2 / 2. k steps of gradient descent with
// rate r take w to centre + (1 - r curvature)^k (w - centre).
type quadratic struct{ curvature, centre []float64 }

const rate = 0.1

func problems(n, weights int) []quadratic {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	all := make([]quadratic, n)
	for i := range all {
		for range weights {
			all[i].curvature = append(all[i].curvature, 0.1+4*r.Float64())
			all[i].centre = append(all[i].centre, r.NormFloat64())
		}
	}
	return all
}

// steps returns how many steps a node takes in a round: unequal, and none in some.
func steps(node, round int) int { return (3*node + 5*round + 1) % 7 }

// train takes steps of gradient descent in float32.
func (q quadratic) train(w []float32, steps int) {
	for range steps {
		for j := range w {
			w[j] -= float32(rate * q.curvature[j] * (float64(w[j]) - q.centre[j]))
		}
	}
}

// outcome returns where local SGD takes the anchor, in float64, from the closed form of the nodes' steps.
func outcome(all []quadratic, weights, rounds int, kind string, lr, mu float64) []float64 {
	a, v := make([]float64, weights), make([]float64, weights)
	for round := range rounds {
		mean, total := make([]float64, weights), 0.0
		for i, q := range all {
			k := float64(steps(i, round))
			for j := range mean {
				end := q.centre[j] + math.Pow(1-rate*q.curvature[j], k)*(a[j]-q.centre[j])
				mean[j] += k * (end - a[j])
			}
			total += k
		}
		if total == 0 {
			continue
		}
		for j := range a {
			m := mean[j] / total
			if kind == nodes.Mean {
				a[j] += m
				continue
			}
			v[j] = mu*v[j] + m
			a[j] += lr * (m + mu*v[j])
		}
	}
	return a
}

// TestLocalSGDOnQuadratics: 1 to 4 nodes with unequal numbers of steps come where the closed form says, with the same
// bits on all.
func TestLocalSGDOnQuadratics(t *testing.T) {
	const weights, rounds, lr, mu = 37, 30, 0.7, 0.9
	for _, kind := range []string{nodes.Mean, nodes.Nesterov} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				all := problems(n, weights)
				want := outcome(all, weights, rounds, kind, lr, mu)
				sums := make([]uint64, n)
				together(t, n, func(e nodes.Engine) error {
					me := e.Place().Node
					w := make([]float32, weights)
					o := nodes.NewOuter(kind, lr, mu, w, 1000)
					for round := range rounds {
						k := steps(me, round)
						all[me].train(w, k)
						correction, err := meet(e, o, w, float64(k))
						if err != nil {
							return err
						}
						for j, c := range correction {
							w[j] += c
						}
					}
					sums[me] = o.Checksum()
					for j, a := range o.Anchor {
						if math.Abs(float64(a)-want[j]) > 3e-6 {
							return fmt.Errorf("node %d, weight %d: %g, want %g", me, j, a, want[j])
						}
					}
					return nil
				})
				for i, s := range sums {
					if s != sums[0] {
						t.Errorf("node %d has the anchor %x, node 0 %x", i, s, sums[0])
					}
				}
			})
		}
	}
}

// TestNesterovIsThatOfPyTorch has the numbers of PyTorch 1.13:
//
//	p = torch.nn.Parameter(torch.tensor([0.5, -1.25, 3.0]))
//	o = torch.optim.SGD([p], lr=0.7, momentum=0.9, nesterov=True)
//	for g in [[0.1, -0.2, 0.3], [-0.05, 0.4, 1.5], [0.0, 0.25, -2.0], [1e-3, -1e-3, 0.5]]:
//	    p.grad = torch.tensor(g); o.step(); print(p.tolist())
func TestNesterovIsThatOfPyTorch(t *testing.T) {
	gradients := [][]float32{{0.1, -0.2, 0.3}, {-0.05, 0.4, 1.5}, {0, 0.25, -2}, {1e-3, -1e-3, 0.5}}
	want := [][]float64{
		{0.367000013589859, -0.984000027179718, 2.6010000705718994},
		{0.3768000304698944, -1.4026000499725342, 0.43590015172958374},
		{0.35412004590034485, -1.8598400354385376, 2.0923101902008057},
		{0.3323780596256256, -2.1125259399414062, 1.6580792665481567},
	}
	o := nodes.NewOuter(nodes.Nesterov, 0.7, 0.9, []float32{0.5, -1.25, 3}, 10)
	for i, g := range gradients {
		s := make([]float32, len(g))
		for j := range s {
			s[j] = o.Anchor[j] - g[j] // the nodes' mean is a step down the gradient
		}
		sum := make([]float32, len(g))
		o.Difference(sum, s, 10)
		o.Step(sum, 10)
		for j, a := range o.Anchor {
			if math.Abs(float64(a)-want[i][j]) > 1e-6 {
				t.Errorf("step %d, weight %d: %.8g, PyTorch has %.8g", i, j, a, want[i][j])
			}
		}
	}
}

// TestALostCorrectionHeals: corrections are added while workers write, so that some are lost, in whole or in part. The
// anchor is the mean of what the nodes have all the same, and a node comes back to it in the next round.
func TestALostCorrectionHeals(t *testing.T) {
	const n, weights, rounds, lossy = 3, 50, 12, 8
	examples := func(node, round int) float64 { return float64(64 * (1 + (node+round)%3)) }
	contributed := make([][n][]float32, rounds)
	before, after := make([][]float32, rounds), make([][]float32, rounds)
	together(t, n, func(e nodes.Engine) error {
		me := e.Place().Node
		r := rand.New(rand.NewPCG(3, uint64(me)))
		w := make([]float32, weights)
		o := nodes.NewOuter(nodes.Mean, 0, 0, w, 256)
		for round := range rounds {
			for j := range w {
				w[j] += float32(r.NormFloat64()) / 4
			}
			s := slices.Clone(w)
			contributed[round][me] = s
			if me == 0 {
				before[round] = slices.Clone(o.Anchor)
			}
			correction, err := meet(e, o, s, examples(me, round))
			if err != nil {
				return err
			}
			if me == 0 {
				after[round] = slices.Clone(o.Anchor)
			}
			for j, c := range correction {
				if round >= lossy || r.IntN(3) > 0 {
					w[j] += c
				}
			}
			for j, a := range o.Anchor {
				if round >= lossy && math.Abs(float64(w[j]-a)) > 1e-6 {
					return fmt.Errorf("round %d: node %d has %g at weight %d, the anchor %g", round, me, w[j], j, a)
				}
			}
		}
		return nil
	})
	if t.Failed() {
		return
	}
	lost := 0
	for round := range rounds {
		for j := range weights {
			mean, total := 0.0, 0.0
			for i := range n {
				mean += examples(i, round) * float64(contributed[round][i][j])
				total += examples(i, round)
			}
			if got := float64(after[round][j]); math.Abs(got-mean/total) > 2e-6 {
				t.Fatalf("round %d, weight %d: anchor %g, the nodes' mean %g", round, j, got, mean/total)
			}
		}
		if round > 0 && math.Abs(float64(contributed[round][0][0]-before[round][0])) > 1e-6 {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no correction was lost")
	}
}

// TestDifferences: no examples give zeros whatever the weights are, and large numbers of them stay finite.
func TestDifferences(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	o := nodes.NewOuter(nodes.Mean, 0, 0, []float32{1, 2, 3}, 1e9)
	to := []float32{5, 5, 5}
	o.Difference(to, []float32{inf, nan, -7}, 0)
	if !slices.Equal(to, []float32{0, 0, 0}) {
		t.Errorf("a node without examples contributes %v", to)
	}
	o.Step(to, 0)
	if !slices.Equal(o.Anchor, []float32{1, 2, 3}) {
		t.Errorf("a round without examples leaves %v", o.Anchor)
	}
	o.Difference(to, []float32{1e37, -1e37, 3}, 1e9)
	o.Step(to, 1e9)
	if !slices.Equal(o.Anchor, []float32{1e37, -1e37, 3}) {
		t.Errorf("the only node is at 1e37 -1e37 3, the anchor at %v", o.Anchor)
	}
}

// TestChecksum: any bit counts, the sign of a zero and the velocity's too.
func TestChecksum(t *testing.T) {
	w := make([]float32, 3000) // more than one block
	o := nodes.NewOuter(nodes.Nesterov, 0.7, 0.9, w, 1)
	seen := map[uint64]int{o.Checksum(): -1}
	for i := 0; i < len(w); i += 97 {
		for _, v := range []([]float32){o.Anchor, o.Velocity} {
			v[i] = float32(math.Copysign(0, -1))
			sum := o.Checksum()
			if at, ok := seen[sum]; ok {
				t.Errorf("a change at %d has the checksum of one at %d", i, at)
			}
			seen[sum] = i
			v[i] = 0
		}
	}
}

// TestBitsOfDisjointSetsAddUp: the sum of what the nodes pack, in any order, is the union of their sets.
func TestBitsOfDisjointSetsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "bits")
		nodesOf := rapid.SliceOfN(rapid.IntRange(-1, 7), n, n).Draw(t, "whose") // -1: no node's
		sum := make([]float32, nodes.BitWords(n))
		for node := range 8 {
			bits := make([]bool, n)
			for i, of := range nodesOf {
				bits[i] = of == node
			}
			words := make([]float32, nodes.BitWords(n))
			nodes.PackBits(words, bits)
			for i, w := range words {
				sum[i] += w
			}
		}
		got := make([]bool, n)
		nodes.UnpackBits(got, sum)
		for i, of := range nodesOf {
			if got[i] != (of >= 0) {
				t.Fatalf("bit %d is %v, set by %d", i, got[i], of)
			}
		}
	})
}

// TestBitsOnAnyCores: a round and the checksum are the same to the bit on one core and on several, in which each core
// has a range.
func TestBitsOnAnyCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []float32
	var wantSum uint64
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		random := rand.New(rand.NewPCG(1, 2))
		s := make([]float32, 300_001) // a range for each core
		for i := range s {
			s[i] = float32(random.NormFloat64())
		}
		o := nodes.NewOuter(nodes.Nesterov, 0.7, 0.9, make([]float32, len(s)), 10)
		to := make([]float32, len(s))
		for range 2 {
			o.Difference(to, s, 7)
			o.Step(to, 21)
			o.Correction(s, s)
		}
		got := slices.Concat(s, to, o.Anchor, o.Velocity)
		if want == nil {
			want, wantSum = got, o.Checksum()
		}
		if !slices.Equal(got, want) || o.Checksum() != wantSum {
			t.Errorf("%d cores: other numbers, checksum %x, want %x", cores, o.Checksum(), wantSum)
		}
	}
}

// BenchmarkOuter measures a round of 16 M weights, without what moves between the nodes.
func BenchmarkOuter(b *testing.B) {
	s := make([]float32, 1<<24)
	for i := range s {
		s[i] = float32(i%1000) / 1000
	}
	to := make([]float32, len(s))
	for _, kind := range []string{nodes.Mean, nodes.Nesterov} {
		o := nodes.NewOuter(kind, 0.7, 0.9, make([]float32, len(s)), 1)
		for _, part := range []struct {
			name string
			run  func()
		}{
			{"difference", func() { o.Difference(to, s, 1) }},
			{"step", func() { o.Step(to, 1) }},
			{"correction", func() { o.Correction(to, s) }},
			{"checksum", func() { o.Checksum() }},
		} {
			b.Run(kind+" "+part.name, func(b *testing.B) {
				b.SetBytes(int64(4 * len(s)))
				for range b.N {
					part.run()
				}
			})
		}
	}
}
