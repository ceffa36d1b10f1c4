//go:build !amd64 || noasm

package vec

// factorSteps are loops in assembly, of which there are none here.
type factorSteps = func()

func factorLoop(int) factorSteps { return nil }

func (f *Factors) run(factorSteps, []int32, []uint32, []float32, FactorRate) float64 {
	panic("vec: no assembly")
}
