// Command gen writes the assembly of package vec for x86-64: one file for each of its kinds of
// loops, named after the file here that makes it. What the kinds share is in vector.go; clang is
// the command for 64-bit Arm, and for loops that are C.
//
//	cd internal/vec && go generate
package main

import (
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

// files makes the functions of each assembly file.
var files = map[string]func(){
	"dense":  dense,
	"sparse": sparse,
	"gemm":   gemm,
	"linear": linear,
	"factor": factor,
	"words":  words,
}

func main() {
	if len(os.Args) < 2 || files[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "gen: want dense, sparse, gemm, linear, factor or words, then the flags of avo")
		os.Exit(2)
	}
	f := files[os.Args[1]]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	build.ConstraintExpr("!noasm")
	f()
	build.Generate()
}
