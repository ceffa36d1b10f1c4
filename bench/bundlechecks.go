package bench

import (
	"fmt"
	"math"
	"strings"

	"hogwild/internal/human"
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

// rates adds a check for each run of that group whose speed says nothing, or not all.
func (r *Results) rates() {
	for _, v := range r.Of("rates") {
		c := Check{"rates", v.Kind() + ", " + v.How() + " in flight", "FAIL", ""}
		switch {
		case v.Examples == 0:
			c.Text = strings.TrimSpace("no example was trained " + v.Stopped)
		case !r.StandIn && v.WallRate > 0 && v.ExamplesPerSecond > 2*v.WallRate:
			c.Text = fmt.Sprintf("%s examples/s while it trains, %s of wall time: most of it passes between epochs", human.Rate(v.ExamplesPerSecond), human.Rate(v.WallRate))
		default:
			continue
		}
		r.Checks = append(r.Checks, c)
	}
}
