package figure_test

import (
	"fmt"
	"os"
	"strings"

	"hogwild/internal/figure"
)

// A curve with the ranges of its repeats, and what it would be at best.
func ExampleFigure_SVG() {
	f := figure.Figure{
		Name:  "speed-up",
		Title: "Speed-up over one worker",
		X:     figure.Axis{Label: "workers"},
		Y:     figure.Axis{Label: "speed-up", Zero: true},
		Series: []figure.Series{
			{Name: "ideal", Kind: figure.Ideal, Points: []figure.Point{{X: 1, Y: 1}, {X: 4, Y: 4}}},
			{Name: "async", Points: []figure.Point{{X: 1, Y: 1}, {X: 2, Y: 1.8, Low: 1.7, High: 1.9},
				{X: 4, Y: 3.1, Low: 2.8, High: 3.2}}},
		},
	}
	var b strings.Builder
	if err := f.SVG(&b); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println(strings.HasPrefix(b.String(), "<svg "), strings.Contains(b.String(), ">async</text>"))
	// Output: true true
}
