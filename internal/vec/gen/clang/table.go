package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// cores are the rates in Arm's Software Optimization Guides for the Neoverse N1, and for the V1
// and V2, which agree in these: instructions (MOPs) dispatched, ASIMD multiply-adds of 128 bits, loads
// and stores together, and stores.
var cores = []struct {
	core
	models []string // of llvm-mca
}{
	{core{"N1", 4, 2, 2, 2}, []string{"neoverse-n1"}},
	{core{"V1, V2", 8, 4, 3, 2}, []string{"neoverse-v1", "neoverse-v2"}},
}

// rows are the loops of the table, found by what one pass multiplies and adds.
var rows = []struct {
	function     string
	multiplyAdds int
	what         string
}{
	{"tileNEON", 96, "dense product: 6 x 16 tile"},
	{"tileNEON", 48, "the same: 6 x 8"},
	{"convRowNEON", 80, "convolution: 5 channels, 16 images"},
	{"convGradNEON", 100, "its gradient: 5 channels, 5 offsets, 4 images"},
	{"dotNEON", 32, "dot"},
	{"axpyNEON", 16, "axpy"},
	{"expSumNEON", 60, "softmax: 4 exponentials, in float64"},
	{"sparseGemvNEON", 64, "sparse product: 64 columns"},
	{"sparseGemvNEON", 48, "the same: 4 rows of 10 columns (12 lanes)"},
	{"sparseGerNEON", 64, "sparse update: 64 columns"},
	{"sparseGerNEON", 10, "the same: 10 columns"},
	{"sparseOuterNEON", 64, "sparse update by features: 64 columns"},
	{"linearStepsNEON", 4, "linear model, product: 4 numbers of a row"},
}

const title = "| loop | multiply-adds | instructions | of them a multiply-add | loads, stores |"

// writeTable puts the table of loops in the place of the one that the file has.
func writeTable(file string, functions []function) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), title)
	if !found {
		return fmt.Errorf("%s has no table that begins with %q", file, title)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	table := title
	rule := "|---|---|---|---|---|"
	for _, c := range cores {
		table += fmt.Sprintf(" %s: cycles | of FMLA | bound | llvm-mca |", c.name)
		rule += "---|---|---|---|"
	}
	table += "\n" + rule + "\n"
	for _, r := range rows {
		l, err := find(functions, r.function, r.multiplyAdds)
		if err != nil {
			return err
		}
		line, err := l.line(r.what)
		if err != nil {
			return err
		}
		table += line + "\n"
	}
	return os.WriteFile(file, []byte(before+table+"\n"+after), 0o644)
}

func find(functions []function, name string, multiplyAdds int) (loop, error) {
	for _, f := range functions {
		for _, l := range loops(f) {
			if f.name == name && l.multiplyAdds == multiplyAdds {
				return l, nil
			}
		}
	}
	return loop{}, fmt.Errorf("%s has no loop with %d multiply-adds: the list of rows is for other code",
		name, multiplyAdds)
}

func (l loop) line(what string) (string, error) {
	line := fmt.Sprintf("| %s | %d | %d | %.2f | %d, %d |", what, l.multiplyAdds, l.instructions,
		float64(l.instructions)/float64(l.multiplyAdds), l.loads, l.stores)
	for _, c := range cores {
		cycles, on := l.least(c.core)
		var estimates []string
		for _, model := range c.models {
			e, err := l.estimate(model)
			if err != nil {
				return "", err
			}
			estimates = append(estimates, fmt.Sprintf("%.1f", e))
		}
		line += fmt.Sprintf(" %.1f | %.0f%% | %s | %s |", cycles, 100*float64(l.fmla)/c.fmla/cycles, on,
			strings.Join(estimates, ", "))
	}
	return line, nil
}

var total = regexp.MustCompile(`Total Cycles: +(\d+)`)

// estimate is the cycles that llvm-mca's model of a core gives one pass.
func (l loop) estimate(model string) (float64, error) {
	const passes = 1000
	mca := exec.Command("llvm-mca-19", "-mtriple=aarch64", "-mcpu="+model, fmt.Sprint("-iterations=", passes))
	mca.Stdin = strings.NewReader(l.text())
	out, err := mca.CombinedOutput()
	m := total.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("llvm-mca-19 (Debian: llvm-19): %v\n%s", err, out)
	}
	cycles, err := strconv.Atoi(string(m[1]))
	return float64(cycles) / passes, err
}
