//go:build !amd64 || noasm

package vec

// What is assembly elsewhere, and never called here.

func linearSteps(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, val, y, w, bias, shrink *float32, lr, biasStep float32) (sum, product float32) {
	return
}
func linearDecay(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, val, y, w, bias, shrink *float32, lr, biasStep float32) (sum, product float32) {
	return
}
