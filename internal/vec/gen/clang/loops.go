package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// loop is a loop without another one in it, and what one pass through it takes.
type loop struct {
	function      string
	code          []instruction
	instructions  int
	fmla          int // instructions that multiply and add
	multiplyAdds  int // numbers that they make
	loads, stores int // of up to 16 bytes
}

var (
	vectorOperation = regexp.MustCompile(`^(?:fmla|fmls) v\d+\.(\d)`)
	scalarOperation = regexp.MustCompile(`^(?:fmadd|fnmsub|fmsub|fnmadd) `)
	memoryOperation = regexp.MustCompile(`^(ld|st)(?:r|p|rsw|psw|1|1r|ur) (.*?)\[`)
	jump            = regexp.MustCompile(`^(?:b|b\..*|cbz|cbnz|tbz|tbnz) (?:.*, )?(BB\S+)$`)
)

// loops returns the innermost loops of a function.
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
		if m := memoryOperation.FindStringSubmatch(in.text); m != nil {
			n := 1
			if pair := strings.Count(m[2], ",") == 2; pair && m[2][0] == 'q' {
				n = 2
			}
			if m[1] == "ld" {
				l.loads += n
			} else {
				l.stores += n
			}
		}
	}
	return l
}

// core is how much of each a core can start in a cycle.
type core struct {
	name                              string
	instructions, fmla, memory, store float64
}

// least is the cycles that one pass takes at least, and what they are spent on.
func (l loop) least(c core) (cycles float64, on string) {
	cycles, on = float64(l.fmla)/c.fmla, "multiply-adds"
	for _, other := range []struct {
		cycles float64
		on     string
	}{
		{float64(l.instructions) / c.instructions, "instructions"},
		{float64(l.loads+l.stores) / c.memory, "memory"},
		{float64(l.stores) / c.store, "stores"},
	} {
		if other.cycles > cycles {
			cycles, on = other.cycles, other.on
		}
	}
	return cycles, on
}

// text is the loop for an assembler, without its jumps.
func (l loop) text() string {
	var b strings.Builder
	for _, in := range l.code {
		if !jump.MatchString(in.text) {
			fmt.Fprintln(&b, in.text)
		}
	}
	return b.String()
}
