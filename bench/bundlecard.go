package bench

import (
	"slices"
	"strings"
)

// Card is the GPU during the whole time, as nvidia-smi saw it twice a second.
type Card struct {
	Samples int        `json:"samples"`
	Busy    int        `json:"busy"`       // samples with a kernel on the GPU
	Clock   [3]float64 `json:"clock_mhz"`  // of the multiprocessors, in those: least, median, most
	Power   [3]float64 `json:"power_w"`    // the same
	Memory  float64    `json:"memory_mib"` // the most in use
}

// cardOf sums up the rows time, UUID, clock, power, use and memory of a GPU; of all there are, if the UUID is not known. nil: there are none.
func cardOf(rows [][]string, uuid string) *Card {
	c := Card{}
	var clocks, powers []float64
	for _, f := range rows {
		if uuid != "" && f[1] != uuid {
			continue
		}
		c.Samples++
		if v := number(strings.TrimSpace(f[5])); v != nil { // nil: [N/A]
			c.Memory = max(c.Memory, *v)
		}
		if use := number(f[4]); use == nil || *use == 0 {
			continue
		}
		c.Busy++
		for v, all := range map[*float64]*[]float64{number(f[2]): &clocks, number(f[3]): &powers} {
			if v != nil {
				*all = append(*all, *v)
			}
		}
	}
	if c.Samples == 0 {
		return nil
	}
	c.Clock, c.Power = spreadOf(clocks), spreadOf(powers)
	return &c
}

// spreadOf are the least, the middle and the largest.
func spreadOf(v []float64) [3]float64 {
	if len(v) == 0 {
		return [3]float64{}
	}
	slices.Sort(v)
	return [3]float64{v[0], v[len(v)/2], v[len(v)-1]}
}
