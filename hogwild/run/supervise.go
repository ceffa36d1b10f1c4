package run

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/loops"
	"hogwild/internal/fault"
	"hogwild/shm"
)

func (r *coordinator) spawn(rank int) error {
	r.block.SetRank(rank, control.RankState, control.StateStarting)
	r.block.SetRank(rank, control.RankThread, 0)
	r.block.SetRank(rank, control.RankProgram, 0)
	if r.startsInside() {
		return r.spawnInside(rank)
	}
	p, err := r.workers.launcher.start(rank, []*os.File{r.block.Seg.File(), r.mem.Seg.File(), r.train.File()}, r.programLog(rank))
	if err == nil {
		r.workers.processes[rank] = p
		r.block.SetRank(rank, control.RankPID, uint64(p.pid()))
	}
	return err
}

// add starts a worker of a run that is under way. If that fails, perhaps for a moment (too many open files or
// processes), it is tried again, as if the worker had died.
func (r *coordinator) add(rank int) {
	err := r.spawn(rank)
	if err != nil && r.startsInside() {
		r.epochs.ended = err
	} else if err != nil {
		r.replace(&exit{rank: rank}, err.Error())
	}
}

// revive starts a worker again whose back-off is over, if it is still needed.
func (r *coordinator) revive(rank int) {
	r.workers.due[rank] = false
	if rank < r.job.Workers {
		r.add(rank)
	}
}

// died answers the end of a worker: its chunk goes back, and it alone is started
// again, while the others go on.
func (r *coordinator) died(e exit) {
	_ = fault.Point("worker.died")
	if !r.workers.ended(&e) {
		return
	}
	r.release(e.rank)
	if r.epochs.ended = r.diverged(); r.epochs.ended != nil {
		return // whoever noticed has stopped all
	}
	if r.epochs.ended = r.unread(&e); r.epochs.ended != nil {
		return
	}
	if e.err != nil {
		r.epochs.ended = onDevice(e.err)
		return
	}
	if e.crash.after {
		r.failedAfterLoop(fmt.Sprintf("worker %d", e.rank), e.crash.first)
	}
	leaving := r.workers.leaving[e.rank]
	if r.workers.leaving[e.rank] = false; e.rank >= r.job.Workers || leaving && e.clean {
		if e.rank < r.job.Workers { // there are more again: another one takes its place
			r.add(e.rank)
		}
		return
	}
	who := fmt.Sprintf("worker %d (pid %d) %s", e.rank, e.pid, e.how)
	if path := e.keep(r.dir); path != "" {
		who += " (full output: " + path + ")"
	}
	if r.block.Rank(e.rank, control.RankBegan) == 0 && !e.crash.signal {
		if r.mayStartInside() {
			r.report.event("%s: it continues in the coordinator's process", who)
			r.epochs.ended = r.spawnInside(e.rank)
			return
		}
		r.epochs.ended = fmt.Errorf("%s: it cannot start", who)
		return
	}
	if e.crash.inLoop() && r.replacesLoops(&e) {
		r.replace(&e, who)
		return
	}
	if r.workers.repeated.everywhere(e.rank, &e.crash, r.job.Workers, r.block.Get(control.WordEpoch)) {
		r.epochs.ended = fmt.Errorf("every worker fails at the same place, %s: %s; the run up to then is saved in %s", e.crash.place, who, r.dir)
		return
	}
	r.replace(&e, who)
}

// replacesLoops has the loops in assembly checked, once in a run, after a worker died in one of them, and plain Go replace
// those that are wrong. It tells whether they are replaced since this worker began.
func (r *coordinator) replacesLoops(e *exit) bool {
	w := &r.workers
	if w.checked.IsZero() {
		var err error
		if w.faulty, err = CheckLoops(); err != nil {
			r.report.event("the loops in assembly could not be checked: %v", err)
		}
		for _, note := range loops.Notes(w.faulty) {
			r.awaitEvaluation() // it runs them too
			loops.Replace(w.faulty)
			r.report.event("%s", note)
		}
		w.checked = time.Now()
	}
	return len(w.faulty) > 0 && time.Now().Add(-e.lived).Before(w.checked)
}

// shortLife is one that counts towards the limit of restarts, and delays the next one, whatever the worker did in it.
const shortLife = time.Second

// replace starts a worker again that has died, within the limit. The limit is for a worker that gets nowhere: one that has
// lived for a while and trained has all its restarts again, so that rare deaths do not add up over a long run.
func (r *coordinator) replace(e *exit, who string) {
	trained := r.block.Rank(e.rank, control.RankExamples)
	if e.lived > shortLife && trained > r.workers.trained[e.rank] {
		r.workers.inRow[e.rank] = 0
	}
	r.workers.trained[e.rank] = trained
	if r.workers.inRow[e.rank] < r.job.MaxRestarts {
		r.restart(e, who)
		return
	}
	r.workers.gone[e.rank] = true
	r.block.SetRank(e.rank, control.RankState, control.StateGone)
	for _, gone := range r.workers.gone[:r.job.Workers] {
		if !gone {
			r.report.event("%s: not restarted, it has had its %d restarts; the other workers continue", who, r.job.MaxRestarts)
			r.carry(e.rank)
			return
		}
	}
	if r.block.Rank(e.rank, control.RankBegan) == 0 {
		r.epochs.ended = fmt.Errorf("%s: no worker is left; this one has died in each of its %d starts", who, r.job.MaxRestarts+1)
		return
	}
	r.epochs.ended = fmt.Errorf("%s: no worker is left (raise --max-restarts %d)", who, r.job.MaxRestarts)
}

// unread is an error if a worker ended because the data, which a run maps from a file, can no longer
// be read: it would again.
func (r *coordinator) unread(e *exit) error {
	err := r.train.Changed()
	if strings.Contains(e.how, "SIGBUS") {
		err = r.train.Unread()
	}
	if err != nil {
		err = fmt.Errorf("%w (%s)", err, r.lastGood())
	}
	return err
}

// restart starts a worker again, after a while.
func (r *coordinator) restart(e *exit, who string) {
	r.workers.restarts[e.rank]++
	r.workers.inRow[e.rank]++
	r.epochs.position.Restarts++
	n := r.workers.inRow[e.rank]
	r.report.event("%s: restarted, %d of %d", who, n, r.job.MaxRestarts)
	r.block.SetRank(e.rank, control.RankState, control.StateRestarting)
	r.workers.due[e.rank] = true
	if e.pid == 0 { // it could not be started
		n++
	}
	wait := backOff(n, e.lived)
	time.AfterFunc(wait, func() { r.workers.respawn <- e.rank })
}

// backOff is the wait before a worker's n-th restart: none at first, and longer and
// longer for one that dies as soon as it lives.
func backOff(n int, lived time.Duration) time.Duration {
	if n == 1 || lived > shortLife {
		return 0
	}
	return min(20*time.Millisecond<<min(n, 10), 2*time.Second)
}

// carry does what a rank that is gone would leave undone: in barrier mode the
// coordinator meets and averages in its place. What only it may train is lost.
func (r *coordinator) carry(rank int) {
	r.block.GiveUp(rank)
	if !r.block.Plan.Barrier {
		return
	}
	d, err := askFor(r, r.patient(), func() (device.Device, error) { return r.owner.Device(rank) })
	if err != nil {
		r.epochs.ended = onDevice(err)
		return
	}
	block := *r.block
	standIn := &worker{rank: rank, block: &block, device: d, idle: true}
	r.workers.aside.Go(func() {
		if err := standIn.rounds(); !errors.Is(err, control.ErrStopped) && !errors.Is(err, control.ErrScaled) {
			r.block.Stop() // without this rank the others would wait for ever
		}
	})
}

// halt stops the workers kindly, and those that do not stop in time not. When it
// returns nobody but the caller looks at the shared memory any more, if the GPU is not silent.
func (r *coordinator) halt() {
	_ = fault.Point("workers.halt")
	r.block.Stop()
	if r.job.Program != "" {
		r.killStarting()
	}
	if r.job.Program != "" && (r.epochs.ended == nil || errors.Is(r.epochs.ended, errDone)) {
		r.awaitPrograms()
	}
	if limit := r.patience / hurry; !r.awaitEnd(limit) {
		r.kill(r.workers.running()...)
		if !r.awaitEnd(limit) { // a killed process goes on in a call of the driver's until that returns
			r.stays = true
			holder := "GPU driver"
			if r.job.GPU == "" {
				holder = "kernel"
			}
			for _, p := range r.workers.running() {
				r.report.event("worker %d (pid %d) was killed but does not exit: the %s still holds it", p.rank, p.pid(), holder)
			}
		}
	}
	if err := r.ask(r.patience, func() error { r.workers.aside.Wait(); return nil }); err != nil {
		r.epochs.failed(onDevice(err))
	}
}

// killStarting ends workers that have not begun: a program takes seconds to start.
func (r *coordinator) killStarting() {
	for _, p := range r.workers.running() {
		if r.block.Rank(p.rank, control.RankState) == control.StateStarting {
			p.kill()
		}
	}
}

// kill ends processes at once. The owner may have to see to it first that others survive it, by
// a service that may take seconds for each: so it is asked for all of them at the same time.
func (r *coordinator) kill(processes ...*process) {
	abandon := func(int) error { return nil }
	if o, ok := r.owner.(interface{ Abandon(pid int) error }); ok {
		abandon = o.Abandon
	}
	var all sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		all.Go(func() {
			errs[i] = abandon(p.pid())
			if program := r.programOf(p.rank); program != 0 {
				errs[i] = errors.Join(errs[i], abandon(program))
			}
			p.kill()
		})
	}
	all.Wait()
	for i, p := range processes {
		if errs[i] != nil {
			r.report.event("worker %d (pid %d) is killed with its steps in flight: %v", p.rank, p.pid(), errs[i])
		}
	}
}

// awaitEnd waits, so long at most, until all workers have ended, and tells whether they have.
func (r *coordinator) awaitEnd(limit time.Duration) bool {
	late := time.After(limit)
	for len(r.workers.running()) > 0 {
		select {
		case e := <-r.workers.launcher.exits:
			if r.workers.ended(&e) {
				r.release(e.rank)
			}
		case <-late:
			return false
		}
	}
	return true
}

// running are the worker processes that there are.
func (s *supervisor) running() (all []*process) {
	for _, p := range s.processes {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// ended takes in that a process has. It is false for one that hung and has been replaced since.
func (s *supervisor) ended(e *exit) bool {
	p := s.processes[e.rank]
	if e.err != nil { // in this process
		return true
	}
	if p == nil || p.pid() != e.pid {
		return false
	}
	if p.hung != "" {
		e.how = p.hung
	}
	s.processes[e.rank] = nil
	return true
}

// orphansEnd waits, so long at most, until the programs of dead workers have ended, and tells whether they have. The kernel
// kills them with their workers. But they have the memory open until they are gone, and on a GPU that must not be
// freed before.
func (r *task) orphansEnd(limit time.Duration) bool {
	for late := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		r.orphans = slices.DeleteFunc(r.orphans, func(pid int) bool { return !shm.Alive(pid) })
		if len(r.orphans) == 0 || time.Now().After(late) {
			return len(r.orphans) == 0
		}
	}
}

// release gives back what a dead worker had: its chunks, its locks, its turn.
func (r *task) release(rank int) {
	if pid := r.programOf(rank); pid != 0 {
		r.orphans = append(r.orphans, pid)
	}
	r.mem.FreeLocks(rank)
	r.mem.PassTicket(rank)
	r.block.Release(rank)
}
