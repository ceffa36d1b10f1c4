package main

// sparse makes the loops of sparse_amd64.s.
func sparse() {}
