//go:build !amd64 || noasm

package vec

// What is assembly elsewhere, and never called here.

func mergeAVX512(shared, mine, base *float32, n int) {}
func mergeAVX2(shared, mine, base *float32, n int)   {}
func largestAVX512(idx *uint32, n int) uint32        { return 0 }
func largestAVX2(idx *uint32, n int) uint32          { return 0 }
func sparseGemvAVX512(idx *uint32, val *float32, n int, end uint32, w *float32, stride int, z *float32, k int) int {
	return 0
}
func sparseGemvAVX2(idx *uint32, val *float32, n int, end uint32, w *float32, stride int, z *float32, k int) int {
	return 0
}
func sparseGerAVX512(a float32, idx *uint32, val *float32, n int, d, w *float32, stride, k int) {}
func sparseGerAVX2(a float32, idx *uint32, val *float32, n int, d, w *float32, stride, k int)   {}
func sparseOuterAVX512(a float32, from *uint32, rows int, list *uint64, d, w *float32, stride, k int) {
}
func sparseOuterAVX2(a float32, from *uint32, rows int, list *uint64, d, w *float32, stride, k int) {}

func nonzerosVBMI2(x *uint8, n int, mul float32, idx *uint32, val *float32) int { return 0 }
func widenAVX512(x *uint8, mul, add, y *float32, n int)                         {}
func widenAVX2(x *uint8, mul, add, y *float32, n int)                           {}
func prefetch(x *uint8, n int)                                                  {}
