//go:build !amd64 || noasm

package vec

// What is assembly elsewhere, and never called here.

func convRow512(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)           {}
func convRow256(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)           {}
func convGrad512(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int) {}
func convGrad256(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int) {}
func pool512(out, win, z, scale *float32, n, p, row int)                                   {}
func pool256(out, win, z, scale *float32, n, p, row int)                                   {}
func unpool512(dz, d, win, scale, sum *float32, n, p, row int)                             {}
func unpool256(dz, d, win, scale, sum *float32, n, p, row int)                             {}
