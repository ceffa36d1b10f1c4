//go:build !amd64 || noasm

package vec

// What is assembly elsewhere; never called here.

func tileAVX2(m, n, k int, alpha float32, a *float32, ars, acs int, b, c *float32, ldc int) {
	panic("vec: no AVX2")
}
func packAVX2(n, k int, src *float32, ld int, dst *float32)         { panic("vec: no AVX2") }
func packTAVX2(k int, src *float32, ld int, dst *float32, nr int)   { panic("vec: no AVX2") }
func packAVX512(n, k int, src *float32, ld int, dst *float32)       { panic("vec: no AVX-512") }
func packTAVX512(k int, src *float32, ld int, dst *float32, nr int) { panic("vec: no AVX-512") }
func tileAVX512(m, n, k int, alpha float32, a *float32, ars, acs int, b, c *float32, ldc int) {
	panic("vec: no AVX-512")
}

func dotAVX2(x, y *float32, n int) float32              { panic("vec: no AVX2") }
func dotAVX512(x, y *float32, n int) float32            { panic("vec: no AVX-512") }
func axpyAVX2(a float32, x, y *float32, n int)          { panic("vec: no AVX2") }
func axpyAVX512(a float32, x, y *float32, n int)        { panic("vec: no AVX-512") }
func scaleAVX2(a float32, x *float32, n int)            { panic("vec: no AVX2") }
func scaleAVX512(a float32, x *float32, n int)          { panic("vec: no AVX-512") }
func reluAVX2(z, h *float32, n int)                     { panic("vec: no AVX2") }
func reluAVX512(z, h *float32, n int)                   { panic("vec: no AVX-512") }
func reluMaskAVX2(h, d *float32, n int)                 { panic("vec: no AVX2") }
func reluMaskAVX512(h, d *float32, n int)               { panic("vec: no AVX-512") }
func expSumAVX2(z *float32, n int, m float32) float64   { panic("vec: no AVX2") }
func expSumAVX512(z *float32, n int, m float32) float64 { panic("vec: no AVX-512") }
func fetch(x *float32, n int)                           { panic("vec: no prefetch") }
