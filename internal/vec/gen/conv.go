package main

// conv makes the loops of conv_amd64.s.
func conv() {}
