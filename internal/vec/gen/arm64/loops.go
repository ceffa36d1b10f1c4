package main

import "io"

func printLoops(w io.Writer, functions []function) {}
