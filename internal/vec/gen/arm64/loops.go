package main

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// loop is a loop without another one in it, and what one pass through it takes.
type loop struct {
	function     string
	code         []instruction
	instructions int
	fmla         int // vector instructions that multiply and add, or scalar ones
	multiplyAdds int // numbers that they make
	loads        int // registers loaded
}

// core is how much of each a core can start in a cycle, after Arm's Software Optimization
// Guide for it.
type core struct {
	name                      string
	instructions, fmla, loads float64
}

var cores = []core{{"neoverse-n1", 4, 2, 2}, {"neoverse-v1", 8, 4, 3}, {"neoverse-v2", 8, 4, 3}}

var (
	vectorOperation = regexp.MustCompile(`^(?:fmla|fmls) v\d+\.(\d)`)
	scalarOperation = regexp.MustCompile(`^(?:fmadd|fnmsub|fmsub|fnmadd) `)
	loadOperation   = regexp.MustCompile(`^(?:ldr|ldp|ldrsw|ldpsw|ld1r?|ldur) (.*?)\[`)
	jump            = regexp.MustCompile(`^(?:b|b\..*|cbz|cbnz|tbz|tbnz) (?:.*, )?(BB\S+)$`)
)

// printLoops writes a line of a table for each loop that multiplies and adds.
func printLoops(w io.Writer, functions []function) error {
	for _, f := range functions {
		for _, l := range loops(f) {
			if l.multiplyAdds == 0 {
				continue
			}
			fmt.Fprintf(w, "| %s | %d | %d | %d | %.2f |", l.function, l.multiplyAdds, l.instructions, l.loads, float64(l.instructions)/float64(l.multiplyAdds))
			for _, c := range cores {
				cycles, err := l.estimate(c.name)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, " %.2f | %.1f |", l.least(c), cycles)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// loops are those of a function, of which no other is a part.
func loops(f function) (all []loop) {
	at, previous := map[string]int{}, -1
	for i, in := range f.code {
		for _, l := range in.labels {
			at[l] = i
		}
		m := jump.FindStringSubmatch(in.text)
		if m == nil {
			continue
		}
		if from, behind := at[m[1]]; behind && from > previous {
			all, previous = append(all, count(f.name, f.code[from:i+1])), i
		}
	}
	return all
}

func count(name string, code []instruction) loop {
	l := loop{function: name, code: code, instructions: len(code)}
	for _, in := range code {
		if m := vectorOperation.FindStringSubmatch(in.text); m != nil {
			lanes, _ := strconv.Atoi(m[1])
			l.fmla, l.multiplyAdds = l.fmla+1, l.multiplyAdds+lanes
		}
		if scalarOperation.MatchString(in.text) {
			l.fmla, l.multiplyAdds = l.fmla+1, l.multiplyAdds+1
		}
		if m := loadOperation.FindStringSubmatch(in.text); m != nil {
			l.loads += strings.Count(m[1], ",")
		}
	}
	return l
}

// least is the cycles that one pass takes at least.
func (l loop) least(c core) float64 {
	return max(float64(l.instructions)/c.instructions, float64(l.fmla)/c.fmla, float64(l.loads)/c.loads)
}

var total = regexp.MustCompile(`Total Cycles: +(\d+)`)

// estimate is the cycles that llvm-mca's model of a core gives one pass.
func (l loop) estimate(core string) (float64, error) {
	const passes = 1000
	var text strings.Builder
	for _, in := range l.code {
		if !jump.MatchString(in.text) {
			text.WriteString(strings.Split(in.text, ", for ")[0] + "\n")
		}
	}
	mca := exec.Command("llvm-mca-19", "-mtriple=aarch64", "-mcpu="+core, fmt.Sprint("-iterations=", passes))
	mca.Stdin = strings.NewReader(text.String())
	out, err := mca.CombinedOutput()
	m := total.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("llvm-mca-19: %v\n%s", err, out)
	}
	cycles, err := strconv.Atoi(string(m[1]))
	return float64(cycles) / passes, err
}
