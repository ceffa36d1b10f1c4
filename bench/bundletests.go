package bench

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hogwild/internal/atomicfile"
)

// testLine is what go test -v prints of a test: that it begins or goes on, how it ended, or what it says,
// which is indented by four for a subtest too.
var testLine = regexp.MustCompile(`(?m)^(?:=== (RUN|CONT|NAME) +(\S+)|\s*--- (PASS|FAIL|SKIP): (\S+)|    \w+\.go:\d+: (.*))`)

// tested is what a file of go test -v says.
type tested struct {
	names []string          // of tests and subtests, as they began
	ended map[string]string // PASS, FAIL, SKIP; else the test was cut off
	says  map[string]string // the last line
}

func readTests(text string) tested {
	v := tested{ended: map[string]string{}, says: map[string]string{}}
	of := ""
	for _, m := range testLine.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			if of = m[2]; m[1] == "RUN" {
				v.names = append(v.names, of)
			}
		case m[3] != "":
			v.ended[m[4]] = m[3]
		default:
			v.says[of] = m[5]
		}
	}
	for _, name := range slices.Backward(v.names) { // subtests before what they are of
		if subtests := v.subtests(name); v.ended[name] == "PASS" && len(subtests) > 0 &&
			!slices.ContainsFunc(subtests, func(s string) bool { return v.ended[s] != "SKIP" }) {
			v.ended[name] = "SKIP"
		}
	}
	return v
}

// subtests are the ones directly below a test.
func (v tested) subtests(name string) (all []string) {
	for _, s := range v.names {
		if rest, below := strings.CutPrefix(s, name+"/"); below && !strings.Contains(rest, "/") {
			all = append(all, s)
		}
	}
	return all
}

// tests adds a check for each file NAME.test, which go test -v has written: how many tests have passed, which
// failed, and in which it was cut off; and names those that were skipped, subtests too. A test all of
// whose subtests were skipped is skipped.
func (r *Results) tests(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.test"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := atomicfile.Read(file, mostResult)
		if err != nil {
			return err
		}
		part, v := strings.TrimSuffix(filepath.Base(file), ".test"), readTests(string(text))
		count, failed, open := map[string]int{}, "", ""
		for _, name := range v.names {
			if v.ended[name] == "SKIP" && len(v.subtests(name)) == 0 {
				r.skip(part, v.says[name], name)
			}
			if strings.Contains(name, "/") {
				continue
			}
			count[v.ended[name]]++
			switch v.ended[name] {
			case "FAIL":
				failed += " " + name
			case "":
				open = name
			}
		}
		c := Check{part, "tests", "ok", fmt.Sprintf("%d passed, %d skipped", count["PASS"], count["SKIP"])}
		if failed != "" {
			c.Status, c.Text = "FAIL", c.Text+"; failed:"+failed
		}
		switch {
		case open != "":
			c.Status, c.Text = "FAIL", c.Text+"; ended in "+open
		case !strings.Contains(string(text), "\nPASS") && failed == "":
			c.Status, c.Text = "FAIL", c.Text+"; "+strings.Join(lines(string(text)[max(0, len(text)-200):]), " ")
		}
		r.Checks = append(r.Checks, c)
	}
	return nil
}

// skip adds a test to those that were skipped for that reason.
func (r *Results) skip(part, why, name string) {
	i := slices.IndexFunc(r.Skipped, func(s Skipped) bool { return s.Part == part && s.Why == why })
	if i < 0 {
		i = len(r.Skipped)
		r.Skipped = append(r.Skipped, Skipped{Part: part, Why: why})
	}
	r.Skipped[i].Tests = append(r.Skipped[i].Tests, name)
}
