package bench

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

//go:embed claims.yaml
var claimsText []byte

// claim is a row of claims.yaml, which says what its fields are.
type claim struct {
	In        string
	About     string
	Figure    string
	Claim     string
	Published string

	a, b string // the cases
	is   relation
}

var claims = sync.OnceValue(func() []claim {
	var file struct {
		Names  map[string]string
		Claims []claim
	}
	if err := config.UnmarshalYAML(claimsText, &file); err != nil {
		panic(err)
	}
	name := func(text string) string {
		text = strings.TrimPrefix(text, "loss of ")
		if name, ok := file.Names[text]; ok {
			return name
		}
		return text
	}
	for i := range file.Claims {
		c := &file.Claims[i]
		for _, c.is = range []relation{above, notBelow, closeTo} {
			if a, b, ok := strings.Cut(c.Claim, fmt.Sprintf(" %s ", c.is)); ok {
				c.a, c.b = name(a), name(b)
				break
			}
		}
	}
	return file.Claims
})

// claimFindings are the claims whose cases were planned.
func (e *Experiment) claimFindings() (list []Finding) {
	for _, c := range claims() {
		for group := range strings.FieldsSeq(c.In) {
			cases := e.of(group)
			a, b, serial := find(cases, c.a), find(cases, c.b), e.PaperRuns(group)
			if a == nil || b == nil || serial == nil && c.Figure == "speed-up" {
				continue
			}
			of, format := TestLoss.Of, human.Loss
			switch c.Figure {
			case "speed-up":
				of, format = serial.SpeedUp, human.Factor
			case "sooner":
				of, format = (&ClockRuns{group, cases}).SpeedUp, human.Factor
			case "train loss":
				of = TrainLoss.Of
			}
			f := c.is.finding(of(a), of(b), format)
			f.About, f.Statement, f.Published = c.About, c.Claim, c.Published
			if f.About == "" {
				f.About = group
			}
			list = append(list, f)
		}
	}
	return list
}
