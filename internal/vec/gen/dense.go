package main

// dense makes the loops of dense_amd64.s.
func dense() {}
