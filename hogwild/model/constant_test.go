package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// No other constant outputs have a smaller loss than Constant's: each output is moved up
// and down, by steps from large to small.
func TestConstantIsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	classes, values := make([]float32, 1001), make([]float32, 1001)
	for i := range classes {
		classes[i] = float32(min(2, r.IntN(5))) // a fifth, a fifth, three fifths
		values[i] = float32(math.Exp(r.NormFloat64()))
	}
	two := make([]float32, len(classes))
	for i, y := range classes {
		two[i] = min(y, 1)
	}
	for _, c := range []struct {
		name    string
		classes int
		labels  []float32
	}{
		{"softmax", 3, classes}, {"softmax", 2, two}, {"logistic", 3, classes}, {"logistic", 2, two},
		{"hinge", 3, classes}, {"hinge", 2, two}, {"squared-hinge", 3, classes}, {"squared-hinge", 2, two},
		{"linear", 0, values}, {"l1", 0, values}, {"mlp:4", 0, values},
	} {
		spec, err := Resolve(Options{Name: c.name, Bias: true}, setOf(c.classes))
		if err != nil {
			t.Fatal(err)
		}
		z := spec.Constant(c.labels)
		best := spec.ScoreConstant(z, c.labels)
		if best.N != len(c.labels) || len(z) != spec.Outputs {
			t.Fatalf("%s: %d labels, %d outputs", c.name, best.N, len(z))
		}
		for k := range z {
			for _, step := range []float32{1, .1, .01, -.01, -.1, -1} {
				moved := append([]float32(nil), z...)
				moved[k] += step
				// Shares count an absent class as part of a row: off the optimum by 1/n at most.
				if s := spec.ScoreConstant(moved, c.labels); s.Loss < best.Loss*(1-1e-5) {
					t.Errorf("%s of %d classes: %v has loss %.6g, %v has %.6g", c.name, c.classes, z,
						best.Loss, moved, s.Loss)
				}
			}
		}
		if c.classes == 0 {
			if r2 := 1 - best.SqErr/(best.Y2-best.Y*best.Y/float64(best.N)); c.name != "l1" && math.Abs(r2) > 1e-5 {
				t.Errorf("%s: R2 %g of the mean, want 0", c.name, r2)
			}
			continue
		}
		counts := map[float32]int{}
		most := 0
		for _, y := range c.labels {
			counts[y]++
			most = max(most, counts[y])
		}
		if best.Correct != most && c.name != "hinge" { // no class has half of the rows: hinge outputs are alike
			t.Errorf("%s of %d classes: %d correct, the commonest class has %d", c.name, c.classes, best.Correct, most)
		}
	}
	if z := (Spec{Name: "cut:2", Loss: L1}).Constant(values); z != nil {
		t.Errorf("a graph cut predicts nothing, not %v", z)
	}
}

// A class that only the test set has costs a finite loss.
func TestConstantOfAbsentClass(t *testing.T) {
	spec, _ := Resolve(Options{Name: "softmax", Bias: true}, setOf(3))
	s := spec.ScoreConstant(spec.Constant([]float32{0, 0, 1}), []float32{0, 1, 2})
	if math.IsInf(s.Loss, 0) || math.IsNaN(s.Loss) || s.Correct != 1 {
		t.Errorf("%+v", s)
	}
}
