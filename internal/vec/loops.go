package vec

import (
	"fmt"
	"slices"
)

// Loop is one of the inner loops that have versions in assembly. Each can be switched
// off, and its reference in plain Go runs then.
type Loop uint8

// The loops, by the functions that are made of them.
const (
	LoopDot           Loop = iota
	LoopAxpy               // y += a x
	LoopScale              // x *= a
	LoopReLU               // ReLU
	LoopReLUMask           // ReLUMask
	LoopExpSum             // Softmax
	LoopGemm               // products of dense batches: Mul, MulT, AddOuter
	LoopLinear             // Linear.Steps
	LoopFactor             // Factors.Steps
	LoopConvRow            // ConvRow
	LoopConvGrad           // ConvGrad
	LoopPool               // Pool
	LoopUnpool             // Unpool
	LoopMerge              // Merge
	LoopMergeCentered      // MergeCentered
	LoopLargest            // the check of indices
	LoopSparseGemv         // SparseGemv, Mul of sparse rows
	LoopSparseGer          // SparseGer
	LoopSparseOuter        // AddOuter of sparse rows
	LoopNonzeros           // Nonzeros
	LoopWiden              // Widen
	LoopWords              // Words: Window, Bag, Block
	LoopRows               // GatherRows, ScatterRows
	LoopOptimizer          // Momentum, AdaGrad, Adam
	LoopColumns            // Columns, Scaling
	LoopPairwise           // Pairwise.Steps
	LoopFetch              // asks for memory ahead of its use
	loopCount
)

var loopNames = [loopCount]string{"dot", "axpy", "scale", "relu", "relumask", "expsum", "gemm", "linear",
	"factor", "convrow",
	"convgrad", "pool", "unpool", "merge", "mergecentered", "largest", "sparsegemv", "sparseger", "sparseouter",
	"nonzeros", "widen", "words", "rows", "optimizer", "columns", "pairwise", "fetch"}

// String is the name that HOGWILD_LOOPS_OFF takes.
func (l Loop) String() string { return loopNames[l] }

// Loops are all of them.
func Loops() []Loop {
	all := make([]Loop, loopCount)
	for l := range all {
		all[l] = Loop(l)
	}
	return all
}

// use is the set of instructions that each loop takes. It is written before any loop
// runs, and by tests.
var use [loopCount]ISA

// SwitchOff has the loops named, and only those, run in plain Go. Nothing else may run meanwhile.
// The names are Loop.String's; one that is not among them is an error, after the others.
func SwitchOff(names ...string) error {
	for l := range use {
		use[l] = atMost(Loop(l), set)
	}
	var err error
	for _, name := range names {
		l := slices.Index(loopNames[:], name)
		if l < 0 {
			err = fmt.Errorf("there is no loop %q", name)
			continue
		}
		use[l] = Plain
	}
	return err
}

// Off are the names of the loops that run in plain Go though there is a better version for
// this processor.
func Off() (names []string) {
	for l, s := range use {
		if s == Plain && atMost(Loop(l), set) != Plain {
			names = append(names, loopNames[l])
		}
	}
	return names
}
