package vec

import (
	"fmt"
	"os"
	"strings"
)

// ISA is a set of instructions that loops are written for. Of one processor's sets the
// later one includes the earlier.
type ISA uint8

// The sets.
const (
	Plain  ISA = iota // what Go's compiler makes of plain Go
	NEON              // of arm64
	AVX2              // with FMA
	AVX512            // F, BW, DQ and VL
	VBMI2             // AVX512 with VBMI2
)

var isaNames = [...]string{Plain: "go", NEON: "neon", AVX2: "avx2", AVX512: "avx512", VBMI2: "avx512vbmi2"}

// String is the name that HOGWILD_CPU takes.
func (s ISA) String() string { return isaNames[s] }

// Environment variables that a program and all processes that it starts obey.
const (
	// CPUVariable names the best set that may be used, for measurements and tests: go, avx2, ...
	CPUVariable = "HOGWILD_CPU"
	// OffVariable names loops, with commas between, that run in plain Go.
	OffVariable = "HOGWILD_LOOPS_OFF"
)

var (
	set    = Plain // the best set that is used
	envErr error   // what is wrong with the variables
)

func init() {
	set = best()
	if name := os.Getenv(CPUVariable); name != "" {
		limit(name)
	}
	var off []string
	if names := os.Getenv(OffVariable); names != "" {
		off = strings.Split(names, ",")
	}
	if err := SwitchOff(off...); err != nil && envErr == nil {
		envErr = fmt.Errorf("%s: %w; there are %s", OffVariable, err, strings.Join(loopNames[:], ", "))
	}
}

// limit caps the set at the one named.
func limit(name string) {
	for s, n := range isaNames {
		if n == name && has(ISA(s)) {
			set = ISA(s)
			return
		}
	}
	envErr = fmt.Errorf("%s=%s: this processor has %s", CPUVariable, name, strings.Join(sets(), ", "))
}

// sets are the names of the sets that this processor has.
func sets() (names []string) {
	for s, n := range isaNames {
		if has(ISA(s)) {
			names = append(names, n)
		}
	}
	return names
}

// EnvironmentError is not nil when HOGWILD_CPU names a set that this processor does not have,
// or HOGWILD_LOOPS_OFF a loop that there is not; the value is ignored then.
func EnvironmentError() error { return envErr }

// BestSet is the best set in use.
func BestSet() ISA { return set }

// InstructionSet says what the loops run on: the best set in use, and which loops do
// without it, as in "avx2" or "avx2, but gemm in plain Go".
func InstructionSet() string {
	if names := Off(); len(names) > 0 && set != Plain {
		return fmt.Sprintf("%v, but %s in plain Go", set, strings.Join(names, " and "))
	}
	return set.String()
}
