package chaos

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/fault"
)

// long tells that the tests take minutes: make chaos.
var long = os.Getenv("CHAOS") != ""

// visit is a kind of run that reaches a fault point.
type visit struct {
	counts bool
	mode   string
	flags  []string
	delay  string
}

var (
	anywhere = []visit{{counts: true, mode: "async"}, {counts: true, mode: "sync"}}
	merging  = []visit{{mode: "async", flags: []string{"--model", "mlp:16", "--merge-every", "2"}}}
	centred  = []visit{{mode: "async", flags: []string{"--model", "softmax", "--merge-every", "4", "--center", "on"}}}
	meeting  = []visit{{counts: true, mode: "sync"},
		{mode: "sync", flags: []string{"--average", "gradients", "--model", "softmax"}}}
	pausing = []visit{{counts: true, mode: "async", flags: []string{"--save-every", "5ms"}, delay: "10ms"},
		{counts: true, mode: "sync", flags: []string{"--save-every", "5ms", "--average-every", "160"}, delay: "2ms"}}
	scaling = []visit{{counts: true, mode: "async", delay: "10ms"},
		{counts: true, mode: "sync", flags: []string{"--average-every", "160"}, delay: "10ms"}}
)

// visitors are the kinds of runs for points to which not every run comes.
var visitors = map[string][]visit{
	"merge.begin": merging, "merge.half": centred, "merge.end": merging,
	"lock.held":    {{mode: "locked", flags: []string{"--model", "mlp:16"}}},
	"turn.held":    {{mode: "ordered", flags: []string{"--model", "mlp:16"}}},
	"barrier.meet": meeting, "barrier.met": meeting, "round.average": meeting, "round.averaged": meeting,
	"scale.announce": scaling, "scale.announced": scaling,
	"pause.ask": pausing, "pause.end": pausing, "worker.paused": pausing,
}

// elsewhere reports whether a point is not one of a run on cores.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "gpu.") || strings.HasPrefix(name, "download.") ||
		strings.HasPrefix(name, "convert.")
}

// onGPU are the kinds of runs for points on a GPU.
var onGPU = map[string][]visit{
	"gpu.pull": {{counts: true, mode: "sync", flags: []string{"--gpu", "0,1"}}},
	"": {{counts: true, mode: "async", flags: []string{"--gpu", "0"}},
		{counts: true, mode: "sync", flags: []string{"--gpu", "0"}}},
}

// TestFaultPoints lets a process crash, or a call fail, at each point. The run continues, or ends and can be resumed;
// then it is as if nothing had happened.
func TestFaultPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	counts := []int{2}
	if long {
		counts = []int{1, 2, 4}
	}
	for _, p := range fault.Points {
		if kinds, ok := visitors[p.Name]; ok {
			walk(t, p, kinds, counts, []string{"crash", "error=ENOSPC"})
		} else if !elsewhere(p.Name) {
			walk(t, p, anywhere, counts, []string{"crash", "error=ENOSPC"})
		}
	}
}

// TestGPUFaultPoints has a GPU, or the stand-in, visit fault points: its own, and those where a worker holds something.
func TestGPUFaultPoints(t *testing.T) {
	if _, err := os.Stat(program + "-cuda"); err != nil {
		t.Skip("needs hogwild-cuda in HOGWILD_BIN, and a GPU or the stand-in: make test-cuda")
	}
	counts := []int{2}
	if long {
		counts = []int{1, 2}
	}
	both := []string{"crash", "error=ENOSPC"}
	async, sync := onGPU[""][:1], onGPU[""][1:]
	held := []string{"worker.joined", "chunk.taken", "chunk.report", "epoch.opened", "worker.died"}
	for _, p := range fault.Points {
		switch {
		case p.Name == "gpu.add": // of several nodes: cuda.TestNodeFails
		case p.Name == "gpu.pull" || p.Name == "gpu.push":
			t.Setenv("HOGWILD_FAKE_DEVICES", "2")
			for _, access := range []string{"on", "off"} { // over a link, and through host memory
				t.Setenv("HOGWILD_FAKE_P2P", access)
				walk(t, p, onGPU["gpu.pull"], []int{2}, both)
			}
		case p.Name == "barrier.met" || p.Name == "round.averaged":
			walk(t, p, sync, counts, both)
		case !strings.HasPrefix(p.Name, "gpu.") && !slices.Contains(held, p.Name):
		case long:
			walk(t, p, onGPU[""], counts, both)
		default:
			walk(t, p, async, counts, both[:1])
			walk(t, p, sync, counts, both[1:])
		}
	}
}

// walk has runs of these kinds suffer at a point.
func walk(t *testing.T, p fault.Place, kinds []visit, workers []int, actions []string) {
	for _, v := range kinds {
		for _, n := range workers {
			for _, action := range actions {
				if p.NoError && action != "crash" || n == 1 && strings.HasPrefix(p.Name, "merge.") {
					continue // one worker trains the weights themselves
				}
				f := p.Name + ":" + action
				t.Run(fmt.Sprintf("%s/%d/%s", v.mode, n, f), func(t *testing.T) {
					felt := v.suffer(t, n, f+"@"+nth(p.Name)) || v.suffer(t, n, f+"@1")
					if !felt && p.Name != "worker.end" { // a worker that has done its work may end anyhow
						t.Error("nothing failed")
					}
				})
			}
		}
	}
}

// nth is which time a process fails at a point first, if it comes by so often: in the middle of a run.
func nth(name string) string {
	switch before, _, _ := strings.Cut(name, "."); before {
	case "merge", "lock", "turn":
		return "70"
	}
	return "2"
}

// suffer runs some workers with a fault, and reports whether that was noticed.
func (v visit) suffer(t *testing.T, workers int, faults string) bool {
	var j job
	if v.counts {
		j = countingJob(v.mode, workers, 5, v.flags...)
	} else {
		j = digitsJob(v.mode, workers, 5, v.flags...)
		j.undisturbed(t)
	}
	j.delay = v.delay
	r := newTrial(t, j)
	if strings.HasPrefix(faults, "worker.died") { // one must die first
		faults += ",chunk.taken:crash/0"
	}
	r.start(faults)
	if strings.HasPrefix(faults, "scale.") {
		r.awaitEpoch()
		r.scale(workers + 1)
	}
	r.wait()
	felt := r.felt()
	r.finish()
	r.report(t)
	return felt
}

// felt reports whether a fault was noticed: the coordinator was killed, or says that something failed.
func (r *trial) felt() bool {
	if r.life.status() < 0 {
		return true
	}
	return r.life.says("SIGKILL") || r.life.says("fault ")
}

// TestWorkerCannotBeStarted: where a process cannot be started for a moment, it is tried again.
func TestWorkerCannotBeStarted(t *testing.T) {
	// which needs both workers: elsewhere one may train all before the other begins
	for faults, says := range map[string]string{ // the third is the one that takes the place of the first
		"error=EMFILE@3,chunk.taken:crash/0": "worker 0: fault worker.start: too many open files (raise ulimit -n): " +
			"restarted, 2 of 1000",
		"error=EMFILE@1": "worker 0: fault worker.start: too many open files (raise ulimit -n): restarted, 1 of 1000",
		"error=EAGAIN@2": "worker 1: fault worker.start: resource temporarily unavailable",
	} {
		r := newTrial(t, countingJob("sync", 2, 5))
		r.start("worker.start:" + faults)
		r.wait()
		if !r.done || !r.life.says("starting "+says) {
			t.Errorf("%s: status %d", faults, r.life.status())
			r.problem("lost", "the run ended")
		}
		r.report(t)
	}
}
