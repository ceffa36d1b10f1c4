//go:build cuda

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// choose finds the GPUs, by CUDA's indices, that a configuration means: those named, as "0,1", or
// with "auto:2" the two in least use, and of equals the ones with the most free memory, among those
// that have at least this many bytes free and take several processes. Several nodes on this host
// choose among different ones, if there are enough. The note says what was chosen, and why; it is ""
// where there was no choice.
func choose(text string, least int64, node, nodes int) (indices []int, note string, err error) {
	indices, n, err := config.ReadGPUs(text)
	if err != nil || n == 0 {
		return indices, "", err
	}
	l, err := survey()
	if err != nil {
		return nil, "", err
	}
	var all []candidate
	for _, g := range l.GPUs {
		c := candidate{index: g.Index, use: g.use(), used: g.Used()}
		c.free, c.not = usable(g)
		all = append(all, c)
	}
	deal(all, n, least, node, nodes)
	return pick(text, all, n, least)
}

// deal leaves a node its share of the candidates, by their indices: how much memory is free changes while the
// other nodes on this host start. With too few for n each, all choose among all.
func deal(all []candidate, n int, least int64, node, nodes int) {
	var free []*candidate
	for i := range all {
		if c := &all[i]; c.not == "" && c.free >= least {
			free = append(free, c)
		}
	}
	if nodes < 2 || len(free) < n*nodes {
		return
	}
	for i, c := range free {
		if i%nodes != node {
			c.not = "is left to another node on this host"
		}
	}
}

// candidate is a GPU that may be chosen.
type candidate struct {
	index int
	free  int64  // bytes
	not   string // why it cannot be: "is in exclusive mode"; "" when it can
	use   Use
	used  []string // what is known of its use
}

// says returns what a note says of a candidate that was not chosen.
func (c candidate) says() string {
	if c.not != "" {
		return fmt.Sprintf("%d %s", c.index, c.not)
	}
	if len(c.used) == 0 {
		return fmt.Sprintf("%d had %s", c.index, gib(c.free))
	}
	return fmt.Sprintf("%d had %s (%s)", c.index, gib(c.free), strings.Join(c.used, ", "))
}

func gib(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// usable is a GPU's free memory, or why a run cannot use it: its processes are several,
// and in exclusive mode the GPU takes one, which may be a Multi-Process Service.
func usable(g GPU) (free int64, not string) {
	switch {
	case g.Major < oldestMajor:
		return 0, fmt.Sprintf("has compute capability %d.%d", g.Major, g.Minor)
	case g.Mode == Prohibited:
		return 0, "is in prohibited mode"
	case g.Mode == Shared && g.Free != nil:
		return *g.Free, ""
	}
	free, err := freeMemory(g.Index)
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == unavailable:
		return 0, "is in exclusive mode and taken"
	case err != nil:
		return 0, fmt.Sprintf("does not open (%v)", err)
	case g.alone():
		return 0, "is in exclusive mode, which allows a single process"
	}
	return free, ""
}

// pick takes the n candidates in least use, with at least this many bytes of memory free each; of equals those with the
// most, and of these the first. On a busy one a run still starts, if there is no other.
func pick(text string, all []candidate, n int, least int64) (indices []int, note string, err error) {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.use, b.use), cmp.Compare(b.free, a.free))
	})
	var chosen, others []string
	reason := "by free memory, as use is unknown"
	for _, c := range order {
		if len(c.used) > 0 {
			reason = "unused first, then by free memory"
		}
		if c.not != "" || c.free < least || len(chosen) == n {
			others = append(others, c.says())
			continue
		}
		indices = append(indices, c.index)
		chosen = append(chosen, fmt.Sprintf("%d (%s)", c.index, strings.Join(append([]string{gib(c.free) + " free"},
			c.used...), ", ")))
	}
	if len(chosen) < n {
		advice := "wait, stop what runs there, or name GPUs with --gpu 0"
		if n > len(all) {
			advice = fmt.Sprintf("ask for %d at most", len(all))
		}
		return nil, "", fmt.Errorf("gpu %s: %d of %s can be used, with %s of memory free: %s; %s (hogwild devices "+
			"lists them)",
			text, len(chosen), human.Plural(len(all), "GPU"), size(least),
			strings.Join(append(chosen, others...), ", "), advice)
	}
	note = fmt.Sprintf("gpu %s: %s", text, strings.Join(chosen, ", "))
	if len(others) > 0 {
		note += "; " + strings.Join(others, ", ") + ": " + reason
	}
	return indices, note, nil
}
