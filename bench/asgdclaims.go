package bench

import (
	"strings"

	"hogwild/internal/human"
)

// claim is what a publication says of two rules at some speeds, of the virtual times to a loss: that one is faster than
// the other, not slower, or as fast.
type claim struct {
	speeds string // groups
	a      string
	is     relation
	b      string
	source string
	factor float64 // of their speeds, as published; 0: it gives none
}

// expected are claims of no publication.
const expected = "expected here"

// claims are those of the publications, and what theory has one expect besides.
var claims = []claim{
	{"equal slow-4 slow-8 sqrt exp", plain, above, synchronous, "Koloskova 2022", 0},
	{"slow-4 slow-8 sqrt exp", adaptive, above, plain, "Mishchenko 2022", 0},
	{"slow-4 slow-8 sqrt exp", ringmaster, above, plain, "Ringmaster 2025", 0},
	{"sqrt", ringmaster, above, adaptive, "Ringmaster 2025", 0},
	{"sqrt", ringmaster, above, rennala, "Ringmaster 2025", 0},
	{"slow-8 sqrt", rennala, above, synchronous, "Birch 2026", 0},
	{"slow-8 sqrt", ringmaster, above, synchronous, "Birch 2026", 0},
	{"slow-4", clipped, above, plain, "Clipped ASGD 2026", 1.8},
	{"slow-8", clipped, above, plain, "Clipped ASGD 2026", 0},
	{"slow-4", clipped, above, ringmaster, "Clipped ASGD 2026", 1.5},
	{"slow-8 exp", inverse, above, plain, "Zhang 2015", 0},
	{"slow-8 exp", adaptive, above, inverse, expected, 0},
	{"equal slow-8 exp", published, above, plain, "ASAP.SGD 2022", 0},
	{lowRate, published, above, plain, "ASAP.SGD 2022", 0},
	{lowRate, "twice", notBelow, published, expected, 0},
	{lowRate, tail, closeTo, plain, expected, 0},
	{"slow-8 exp", tail, above, plain, expected, 0},
	{"equal slow-8", compensated, above, plain, "DC-ASGD 2017", 0},
	{"slow-8 exp", fedBuff, above, synchronous, "FedBuff 2022", 0},
	{"equal", plain, notBelow, adaptive, expected, 0}, // that no rule is faster
	{"equal", plain, notBelow, ringmaster, expected, 0},
	{"equal", plain, notBelow, clipped, expected, 0},
	{"equal", plain, notBelow, inverse, expected, 0},
}

// AboutAsgd says what the figures of the table of verdicts are there.
const AboutAsgd = "Figures are speeds: how many times sooner than plain asynchronous SGD a rule reaches the loss, " +
	"each at its best learning rate, as medians of the repeats in the order of the claim. " + aboutVerdicts

// asgdFindings are the claims on rules and speeds that were measured.
func asgdFindings(e *Experiment) (list []Finding) {
	for _, c := range claims {
		for group := range strings.FieldsSeq(c.speeds) {
			for _, r := range Clocked(e) {
				a, b := r.Of(c.a), r.Of(c.b)
				if r.Group != group || a == nil || b == nil {
					continue
				}
				f := quantity{c.a, none, r.SpeedUp(a)}.compare(group, c.is, quantity{c.b, none, r.SpeedUp(b)},
					human.Factor)
				f.Published = c.source
				if c.factor > 0 {
					f.Published += ": " + human.Factor(c.factor) + " times"
				}
				list = append(list, f)
			}
		}
	}
	return list
}
