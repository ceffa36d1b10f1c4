package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// perTrial is how many events hit a run, if it lasts so long.
const perTrial = 8

// TestChaos hurts runs at random: CHAOS=1000 events, 50 in CI. With CHAOS_SEED it does so in the same order again, and
// a failure says with which seed its run comes first; what the processes are doing at that moment is chance.
func TestChaos(t *testing.T) {
	events, seed := wanted(t), uint64(time.Now().UnixNano())%1e9
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		seed = uint64(atoi(t, text))
	}
	t.Logf("CHAOS=%d CHAOS_SEED=%d", events, seed)
	var all table
	for i := uint64(0); all.events() < events; i++ {
		hurt(t, &all, seed+i)
	}
	t.Logf("seed %d, %d runs:\n%s", seed, all.runs, &all)
}

// TestChaosAtAProgramsStart: the first program that a run starts, which evaluates, is killed at any moment of its
// start. The run starts another one.
func TestChaosAtAProgramsStart(t *testing.T) {
	times := max(1, wanted(t)/50)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		r := newTrial(t, job{mode: "async", workers: 2, epochs: 5, want: -1, delay: "10ms",
			flags: []string{"--data", "none", "--lr", "0.1", "--program", exe + " own=3000"}})
		r.rnd = rand.New(rand.NewPCG(rand.Uint64(), 0))
		r.start("")
		var pids []int
		for pids = r.workers(); len(pids) == 0 && !r.life.over(); pids = r.workers() {
			time.Sleep(time.Millisecond)
		}
		r.pause(60)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if r.wait(); !r.done {
			r.problem("lost", "the run ended: %s", r.lastError())
		}
		r.report(t)
	}
	t.Logf("%d programs killed at their start", times)
}

// wanted is how many events there are to be.
func wanted(t *testing.T) int {
	if text := os.Getenv("CHAOS"); text != "" {
		return atoi(t, text)
	} else if testing.Short() {
		t.Skip("takes half a minute: go test without -short, or CHAOS=1000 for as many events")
	}
	return 50
}

func atoi(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hurt is a run, and events until it is done.
func hurt(t *testing.T, all *table, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	j := randomJob(rnd)
	if !j.counts {
		j.undisturbed(t)
	}
	r := newTrial(t, j)
	r.rnd = rnd
	r.extra = []string{"--hang-timeout", "1s"}
	if r.board = rnd.IntN(3) == 0; r.board {
		r.extra = append(r.extra, "--dashboard", "127.0.0.1:0")
	}
	all.runs++
	r.start("")
	for range perTrial {
		r.pause(150)
		if r.done || r.life.over() {
			break // see below how
		}
		r.event(all)
	}
	known := len(r.wrong)
	if !r.done {
		r.wait()
		r.finish()
	}
	r.disconnect()
	all.blame(r.latest, r.wrong[known:])
	if r.report(t); len(r.wrong) > 0 {
		t.Logf("CHAOS_SEED=%d, events: %v", seed, r.history)
	}
}

// event makes an event happen, and records what comes of it.
func (r *trial) event(all *table) {
	e := r.choose()
	r.history, r.latest = append(r.history, e.name), e.name
	known, life := len(r.wrong), r.lives
	if e.later || r.rnd.IntN(4) > 0 {
		r.awaitEpoch()
	}
	r.checkDescriptors()
	e.do(r)
	r.pause(100)
	row := all.row(e.name)
	row.times++
	if r.life.over() {
		if r.wait(); !r.done && !e.ends {
			r.problem("lost", "%s ended the run: %s", e.name, r.lastError())
		}
	}
	if !r.done && r.life.over() {
		r.start("")
	}
	if r.lives > life {
		row.resumed++
	} else {
		row.survived++
	}
	all.blame(e.name, r.wrong[known:])
}

// pause sleeps for some milliseconds, up to most.
func (r *trial) pause(most int) {
	time.Sleep(time.Duration(r.rnd.IntN(most*1000)) * time.Microsecond)
}

// randomJob takes a second or two.
func randomJob(rnd *rand.Rand) job {
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	mode, workers := pick("async", "async", "sync", "sync", "atomic", "locked", "ordered"), 1+rnd.IntN(4)
	var j job
	if rnd.IntN(3) > 0 {
		j = countingJob(mode, workers, 25)
		j.delay = "5ms"
		if mode == "sync" {
			j.flags = append(j.flags, "--average-every", "160")
		}
	} else {
		j = digitsJob(mode, workers, 15, "--model", pick("softmax", "mlp:16"))
		j.delay = "4ms"
		if mode == "sync" {
			j.flags = append(j.flags, "--average-every", "20")
		}
	}
	if save := pick("1", "auto", "3", "30ms", "0"); save != "1" {
		j.flags = append(j.flags, "--save-every", save)
	}
	if rnd.IntN(4) == 0 {
		j.flags = append(j.flags, "--partition", "contiguous")
	}
	return j
}
