//go:build !amd64 || noasm

package vec

const avx2, avx512, vbmi2 = false, false, false
