//go:build (!amd64 && !arm64) || noasm

package vec

// There is no assembly here: use is Plain for every loop, and none of these is called.

const none = "vec: a loop in assembly where there is none"

func best() ISA                     { return Plain }
func has(s ISA) bool                { return s == Plain }
func atMost(Loop, ISA) ISA          { return Plain }
func gemmShape() shape              { panic(none) }
func fetch([]float32)               { panic(none) }
func prefetch([]uint8)              { panic(none) }
func largestFast([]uint32) uint32   { panic(none) }
func largestRowFast([]int32) uint32 { panic(none) }

func dotFast(x, y []float32) float32                                { panic(none) }
func axpyFast(a float32, x, y []float32)                            { panic(none) }
func dot4Fast(_, _, _, _, _ []float32) (z0, z1, z2, z3 float32)     { panic(none) }
func axpy4Fast(_, _, _, _ float32, _, _, _, _, _ []float32)         { panic(none) }
func scaleFast(a float32, x []float32)                              { panic(none) }
func reluFast(z, h []float32)                                       { panic(none) }
func reluMaskFast(h, d []float32)                                   { panic(none) }
func expSumFast(z []float32, m float32) float64                     { panic(none) }
func mergeFast(shared, mine, base []float32)                        { panic(none) }
func mergeCenteredFast(_, _, _, _, _, _, _ []float32)               { panic(none) }
func momentumFast(w, v, g []float32, mu, rate float32)              { panic(none) }
func adaGradFast(w, s, g []float32, rate, eps float32)              { panic(none) }
func adamFast(w, m, v, g []float32, c AdamStep)                     { panic(none) }
func differFast(_, _, _, _, _, _ []float32) (x, own, apart float32) { panic(none) }
func partFast(_, _, _ []float32, _, _, _, _, _, _ float32)          { panic(none) }
func widenFast(x []uint8, mul, add, y []float32) int                { panic(none) }
func (c *Columns) addFast(x []float32, rows, d int)                 { panic(none) }
func (s *Scaling) applyFast(x []float32, rows, d int)               { panic(none) }

func packFast(n, k int, src []float32, ld int, dst []float32)       { panic(none) }
func packTFast(k int, src []float32, ld int, dst []float32, nr int) { panic(none) }
func tileFast(count, next, m, n, k int, alpha float32, a, b grid, c []float32, ldc int, _ grid) {
	panic(none)
}

func (l *Linear) fewFast(w []float32, bias *float32, rows []int32, lr float32, h half, coef *float32,
	g *Guard) (done int, sum, product float32) {
	panic(none)
}
func (l *Linear) outputsFast(ptr []int64, w []float32, bias float32, z []float32) { panic(none) }
func (f *Factors) stepsFast(rows []int32, idx []uint32, y []float32, s FactorRate, h half, coef *float32,
	g *Guard) (done int, loss float64) {
	panic(none)
}
func (l *Linear) guards(*Guard) bool                                              { panic(none) }
func (f *Factors) guards(*Guard) bool                                             { panic(none) }
func (l *lists) addOuterFast(a float32, d []float32, k int, w []float32)          { panic(none) }
func sparseGemvFast(idx []uint32, val []float32, end uint32, w, z []float32) int  { panic(none) }
func sparseGerFast(a float32, idx []uint32, val, d, w []float32)                  { panic(none) }
func nonzerosFast(x []uint8, mul float32, idx []uint32, val []float32) int        { panic(none) }
func convRowFast(c []float32, ldc int, a, start, b []float32, off []int32, n int) { panic(none) }
func convGradFast(g, d []float32, ldd int, b []float32, off []int32, n, rows, dRow, bRow int) {
	panic(none)
}
func poolFast(out, win, z, scale []float32, n, p, row int)       { panic(none) }
func unpoolFast(dz, d, win, scale, sum []float32, n, p, row int) { panic(none) }

func (w *Words) stepsFast(h []float32, inputs []uint32, count int, targets []uint32, n int, lr float32,
	onlyLoss bool) (linear, product float64) {
	panic(none)
}
func (w *Words) blockFast(inputs, targets []uint32, lr float32) float64    { panic(none) }
func gatherFast(w []float32, k int, idx []uint32, h []float32)             { panic(none) }
func scatterFast(w []float32, k int, idx []uint32, a float32, e []float32) { panic(none) }
func (w *Words) fetchFast(inputs, targets []uint32)                        { panic(none) }
