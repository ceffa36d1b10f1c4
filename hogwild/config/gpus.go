package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ReadGPUs reads a choice of GPUs: their indices, counted from 0, as "0" or "0,1"; or
// how many are to be chosen among all, 1 as "auto" and 2 as "auto:2".
func ReadGPUs(text string) (indices []int, choose int, err error) {
	wrong := func() error {
		return Usage("gpu %q: give GPU indices, counted from 0, e.g. 0 or 0,1; auto or auto:2 chooses the GPUs in "+
			"least use, with the most free memory", text)
	}
	if rest, ok := strings.CutPrefix(text, "auto"); ok {
		if rest == "" {
			return nil, 1, nil
		}
		count, ok := strings.CutPrefix(rest, ":")
		n, err := strconv.ParseUint(count, 10, 8)
		if !ok || err != nil || n == 0 {
			return nil, 0, wrong()
		}
		return nil, int(n), nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8)
		if err != nil {
			return nil, 0, wrong()
		}
		if slices.Contains(indices, int(n)) {
			return nil, 0, Usage("gpu %q: GPU %d is listed twice", text, n)
		}
		indices = append(indices, int(n))
	}
	return indices, 0, nil
}

// severalGPUs reports whether GPU names or chooses more than one.
func (c *Config) severalGPUs() bool {
	indices, choose, _ := ReadGPUs(c.GPU) // checkGPU refuses what cannot be read
	return max(len(indices), choose) > 1
}

// checkGPU refuses a GPU that cannot be meant.
func (c *Config) checkGPU() error {
	if c.GPU == "" {
		return nil
	}
	_, _, err := ReadGPUs(c.GPU)
	return err
}

// checkFreeMemory refuses a GPUMemFree that is no size.
func (c *Config) checkFreeMemory() error {
	if _, ok := size(c.GPUMemFree); !ok && c.GPUMemFree != "" {
		return Usage("gpu-mem-free %q: give a size with its unit, e.g. 4GiB or 512MiB", c.GPUMemFree)
	}
	return nil
}

// LeastFree returns GPUMemFree in bytes, 0 when it is empty.
func (c *Config) LeastFree() int64 {
	n, _ := size(c.GPUMemFree) // Resolve has read it
	return n
}

// checkMemory refuses a MaxMemory that is no size.
func (c *Config) checkMemory() error {
	if n, ok := size(c.MaxMemory); c.MaxMemory != Auto && (!ok || n == 0) {
		return Usage("max-memory %q: give a size with its unit, e.g. 4GiB or 512MiB, or auto", c.MaxMemory)
	}
	return nil
}

// MemoryLimit returns MaxMemory in bytes, 0 when it is auto.
func (c *Config) MemoryLimit() int64 {
	n, _ := size(c.MaxMemory) // Resolve has read it
	return n
}

// units of a size.
var units = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// size reads bytes: "4GiB", "1.5 GiB", "512MiB", "80GB". A number alone is refused: who writes 4 does not mean four
// bytes.
func size(text string) (bytes int64, ok bool) {
	for _, u := range units {
		number, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if n *= u.bytes; err != nil || !(n >= 0 && n <= math.MaxInt64/2) {
			return 0, false
		}
		return int64(n), true
	}
	return 0, false
}
