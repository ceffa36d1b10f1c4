package main

// gemm makes the loops of gemm_amd64.s.
func gemm() {}
