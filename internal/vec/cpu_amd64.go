//go:build !noasm

package vec

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd gen && go run . dense -out ../dense_amd64.s -stubs ../dense_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . sparse -out ../sparse_amd64.s -stubs ../sparse_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . gemm -out ../gemm_amd64.s -stubs ../gemm_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . linear -out ../linear_amd64.s -stubs ../linear_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . conv -out ../conv_amd64.s -stubs ../conv_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . factor -out ../factor_amd64.s -stubs ../factor_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . peak -out ../peak_amd64.s -stubs ../peak_amd64.go -pkg vec"

// What this processor has. A loop takes the best of its versions: avx512, else avx2,
// else plain Go. Tests set them to see each.
var (
	avx2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	avx512 = avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
	vbmi2  = avx512 && cpu.X86.HasAVX512VBMI2
)
