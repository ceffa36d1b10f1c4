package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Between the results of a run on the GPU and of the same run on the CPU.
const (
	agreeSerial   = 0.001 // test loss; one step in flight: the same steps, but for the order of sums
	agreeTogether = 0.1   // the same; several: their order is chance
	agreeProgram  = 0.02  // test accuracy of a program, whose dropout is chance too
)

// agree adds a check for each run NAME.gpu of the groups agree and programs: NAME.cpu must end near it.
func (r *Results) agree() {
	for _, v := range r.pairs("agree") {
		within := agreeTogether
		if strings.Contains(v[0].Flags, "--in-flight 1 ") {
			within = agreeSerial
		}
		r.near("agree", v[0].Kind(), "test loss", v[0].TestLoss, v[1].TestLoss, within)
	}
	for _, v := range r.pairs("programs") {
		r.near("programs", v[0].Kind(), "test accuracy", v[0].TestAccuracy, v[1].TestAccuracy, agreeProgram)
	}
}

// pairs are the runs of a group that there are on the GPU and on the CPU.
func (r *Results) pairs(group string) (all [][2]Run) {
	cpu := map[string]Run{}
	for _, v := range r.Of(group) {
		if v.How() == "cpu" {
			cpu[v.Kind()] = v
		}
	}
	for _, v := range r.Of(group) {
		if other, both := cpu[v.Kind()]; v.How() == "gpu" && both {
			all = append(all, [2]Run{v, other})
		}
	}
	return all
}

// near adds a check that a figure on the GPU is that on the CPU, but for the difference.
func (r *Results) near(part, kind, what string, gpu, cpu *float64, within float64) {
	c := Check{part, kind + " as on the CPU", "FAIL", "a " + what + " is not finite"}
	if gpu != nil && cpu != nil {
		c.Text = fmt.Sprintf("%s %.5f, on the CPU %.5f; within %g", what, *gpu, *cpu, within)
		if math.Abs(*gpu-*cpu) <= within {
			c.Status = "ok"
		}
	}
	r.Checks = append(r.Checks, c)
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
