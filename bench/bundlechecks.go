package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Between the test losses of a run on the GPU and of the same run on the CPU.
const (
	agreeSerial   = 0.001 // one step in flight: the same steps, but for the order of sums
	agreeTogether = 0.1   // several: their order is chance
)

// agree adds a check for each run NAME.gpu of the group agree: NAME.cpu must end near it.
func (r *Results) agree() {
	cpu := map[string]Run{}
	for _, v := range r.Of("agree") {
		if v.How() == "cpu" {
			cpu[v.Kind()] = v
		}
	}
	for _, v := range r.Of("agree") {
		other, both := cpu[v.Kind()]
		if v.How() != "gpu" || !both {
			continue
		}
		within := agreeTogether
		if strings.Contains(v.Flags, "--in-flight 1 ") {
			within = agreeSerial
		}
		c := Check{"agree", v.Kind() + " as on the CPU", "FAIL", "a test loss is not finite"}
		if g, w := v.TestLoss, other.TestLoss; g != nil && w != nil {
			c.Text = fmt.Sprintf("test loss %.5f, on the CPU %.5f; within %g", *g, *w, within)
			if math.Abs(*g-*w) <= within {
				c.Status = "ok"
			}
		}
		r.Checks = append(r.Checks, c)
	}
}

// testLine is what a test says when it begins (RUN) and ends; those of subtests are indented or
// have a slash.
var testLine = regexp.MustCompile(`(?m)^(?:=== (RUN) +|--- (PASS|FAIL|SKIP): )([^\s/]+)(?: |$)`)

// tests adds a check for each file NAME.test, which go test -v has written: how many tests have
// passed, which failed, and in which it was cut off.
func (r *Results) tests(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.test"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		count, failed, open := map[string]int{}, "", ""
		for _, m := range testLine.FindAllStringSubmatch(string(text), -1) {
			count[m[2]]++
			switch {
			case m[1] != "":
				open = m[3]
			case m[2] == "FAIL":
				failed += " " + m[3]
			}
			if m[2] != "" {
				open = ""
			}
		}
		c := Check{strings.TrimSuffix(filepath.Base(file), ".test"), "tests", "ok", fmt.Sprintf("%d passed, %d skipped", count["PASS"], count["SKIP"])}
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
