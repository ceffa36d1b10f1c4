package cuda

import "fmt"

// These types are what the build with CUDA says of a machine; a build without it
// only prints them.

// oldestCUDA is the version of CUDA, as drivers count it, whose headers the build with
// CUDA is compiled with at the least: 12.0, which driver 525 brought.
const oldestCUDA = 12000

// TooOld is an error if a driver for a version of CUDA, as drivers count it, may lack what the build with CUDA calls.
func TooOld(version int) error {
	if version >= oldestCUDA {
		return nil
	}
	return fmt.Errorf(
		"the NVIDIA driver is too old: it supports CUDA %s, hogwild needs %s; install driver 525 or newer",
		versionText(version), versionText(oldestCUDA))
}

// versionText is the text of a version as CUDA counts them: 12060 is 12.6.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Listing is the GPUs that this process may use, and the driver.
type Listing struct {
	CUDA   string `json:"cuda"`             // the newest version of CUDA that the driver knows: 12.6
	Driver string `json:"driver,omitempty"` // NVIDIA's own number of it: 550.54.15; "" when NVML is missing
	NVML   string `json:"nvml,omitempty"`   // why what NVML knows is missing; "" when it is there
	GPUs   []GPU  `json:"gpus"`
}

// GPU is one of them. What could not be found out is nil.
type GPU struct {
	Index     int       `json:"index"` // as --gpu takes it: of those that CUDA_VISIBLE_DEVICES shows
	Name      string    `json:"name"`
	UUID      string    `json:"uuid"`
	Major     int       `json:"compute_major"` // compute capability
	Minor     int       `json:"compute_minor"`
	SMs       int       `json:"sms"`
	Total     int64     `json:"memory_total"` // bytes
	Free      *int64    `json:"memory_free"`  // bytes
	Mode      string    `json:"compute_mode"` // default, exclusive or prohibited
	MPS       *bool     `json:"mps"`          // whether this process is a client of a Multi-Process Service there
	MIG       *bool     `json:"mig"`          // whether it is cut into instances
	Display   bool      `json:"display"`      // whether a watchdog ends long kernels, as it drives a display
	Processes []Process `json:"processes"`    // that compute on it; nil when unknown
	// Utilization is the percentage of time in which a kernel ran, over NVML's last sample: a second or less.
	Utilization *int   `json:"utilization"`
	Peers       []Peer `json:"peers,omitempty"`
}

// Use is how much others compute on a GPU: --gpu auto takes the GPUs in least use first.
type Use int

// A GPU that is Unused has no processes, as far as is known; on one that Rests they hold memory, and kernels ran
// for less than resting percent of the last sample.
const (
	Unused Use = iota
	Rests
	Busy
)

const resting = 10 // what a display takes stays below it

// use is how much others compute there. Where the utilization is unknown, a process counts as one that computes.
func (g *GPU) use() Use {
	switch {
	case g.Utilization != nil && *g.Utilization >= resting, g.Utilization == nil && len(g.Processes) > 0:
		return Busy
	case len(g.Processes) > 0:
		return Rests
	}
	return Unused
}

// Used says what is known of a GPU's use: "97% utilization", "2 processes"; nothing when nothing is known.
func (g *GPU) Used() (facts []string) {
	if g.Utilization != nil {
		facts = append(facts, fmt.Sprintf("%d%% utilization", *g.Utilization))
	}
	switch n := len(g.Processes); {
	case n > 1:
		facts = append(facts, fmt.Sprintf("%d processes", n))
	case n == 1:
		facts = append(facts, "1 process")
	case g.Processes != nil:
		facts = append(facts, "no processes")
	}
	return facts
}

// mayShare reports whether a Multi-Process Service is in use there, as far as is known.
func (g *GPU) mayShare() bool { return g.MPS == nil || *g.MPS }

// alone reports whether a GPU takes one process at a time.
func (g *GPU) alone() bool { return g.Mode == Exclusive && !g.mayShare() }

// Process is one that computes on a GPU.
type Process struct {
	PID    int    `json:"pid"`    // on the host, outside containers
	Name   string `json:"name"`   // "" when it cannot be seen
	Memory int64  `json:"memory"` // bytes; -1 when the driver does not tell
}

// Peer is how a GPU reaches another's memory.
type Peer struct {
	Index   int  `json:"index"`
	Access  bool `json:"access"`
	Atomics bool `json:"atomics"` // atomic additions there are atomic
}

// The compute modes: how many processes may use a GPU.
const (
	Shared     = "default"
	Exclusive  = "exclusive"
	Prohibited = "prohibited"
)

// Level is what a finding means for a run.
type Level string

// Fine needs nothing; Advice may help, and runs go well without; Fails does not go well.
const (
	Fine   Level = "fine"
	Advice Level = "advice"
	Fails  Level = "fails"
)

// Finding is what one check of hogwild doctor came to.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"` // what is there; and what to do, unless it is fine
}

// Found makes a finding.
func Found(check string, level Level, format string, args ...any) Finding {
	return Finding{check, level, fmt.Sprintf(format, args...)}
}
