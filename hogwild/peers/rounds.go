package peers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/device"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/machine"
)

// A job on several nodes is one coordinator on each, with its own workers. They train different
// chunks of each epoch, and take rounds: all add up how far their weights have come from a common
// anchor, the mean moves the anchor, and each corrects its weights by what the others have learned.
// Workers train on meanwhile. The last round of an epoch begins when all have trained their chunks:
// after it the weights are the same on every node.
//
// Nodes speak in meetings. In each a node says whether its next round is due; the round takes place
// once it is due on all of them. A node whose round is not due calls in all the same, every beat: a
// slow node is not a silent one, and a stop travels fast.

// Between two rounds that depend on their cost, a node trains this many times as long as one takes,
// so that less than a fifth of its time is spent on them, but at least for leastGap.
const (
	trainFor = 4
	leastGap = 5 * time.Millisecond
)

// rounds are those that this node takes with the others.
type rounds struct {
	group    *group
	run      *core.Memory
	diverged func(what error) error // makes the error of numbers that are not finite
	outer    *nodes.Outer
	memory   []float32 // the engine's: the differences, and behind them the bits of done chunks
	// the weights when they were last copied, then what corrects them; in barrier mode the weights themselves
	copied []float32
	wake   chan struct{} // a meeting may be due
	met    chan error    // how the meetings of the open epoch have ended: nil when all chunks are trained on all nodes
	active bool          // met is still to come
	final  message       // in the meeting in which the job has ended

	// Of the goroutine that holds the meetings.
	counted int           // examples of the open epoch that earlier rounds had
	taken   int           // rounds of the open epoch so far
	ended   time.Time     // when the last round did
	cost    time.Duration // of that round, from when it was due on all nodes
	idle    time.Time     // since when workers wait for other nodes; zero: they do not

	mu     sync.Mutex // of what follows, and of the anchor
	latest message    // in the last meeting
	last   lastRound
	total  rundir.Nodes
}

// Closed returns the channel on which the meetings of an epoch report their end.
func (p *rounds) Closed() <-chan error { return p.met }

// Called wants a meeting soon: something has changed.
func (r *rounds) Called() (alone bool) {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return false
}

// Start begins rounds, and sets the anchor: the first weights, which are the same on all nodes, or the weights of the
// snapshot to resume.
func (p *group) Start(c *core.Memory, from *rundir.Snapshot, at *rundir.Position,
	diverged func(error) error) (core.Rounds, error) {
	r := &rounds{group: p, run: c, diverged: diverged, wake: make(chan struct{}, 1), met: make(chan error, 1)}
	n, plan := len(c.Weights.W), &c.Block.Plan
	bits := 0
	if !plan.Barrier {
		most := plan.Times(1) // the epochs behind a resumed one may have other chunks
		r.last.done = make([]bool, most.AllChunks())
		bits = nodes.BitWords(len(r.last.done))
	}
	var err error
	if r.memory, err = p.engine.Memory(n + bits); err != nil {
		return nil, err
	}
	if r.copied = c.Weights.W; !plan.Barrier {
		r.copied = make([]float32, n)
	}
	r.outer = nodes.NewOuter(string(c.Job.Asked.Outer), c.Job.Asked.OuterLR, c.Job.Asked.OuterMomentum, c.Weights.W,
		float64(plan.N))
	if from != nil {
		copy(r.outer.Velocity, from.Outer)
	}
	if at.Within {
		r.last.begin(at.Epoch, c.Block.First(at.Epoch)-1)
		r.last.examples, r.last.loss = from.DoneChunks(plan, r.last.done)
	}
	r.total = rundir.Nodes{Nodes: p.place.Nodes, Library: p.place.Library}
	return r, nil
}

// Open begins the meetings of an epoch.
func (r *rounds) Open(epoch uint64) {
	done := 0                     // workers may train already
	if r.last.at.epoch == epoch { // it was resumed, and they do not yet
		_, done, _, _ = r.run.Block.Progress()
	} else {
		r.last.begin(epoch, -1)
	}
	r.counted, r.taken, r.active, r.idle = done, 0, true, time.Time{}
	r.record(&message{sayDone: float64(done)})
	if n := r.run.Job.Asked.NodeRounds(); n > 0 {
		r.taken = n * done / max(1, r.run.Block.Plan.Examples())
	}
	go func() { r.met <- r.meetings(epoch) }()
}

// meetings holds the meetings of an epoch, until all nodes have trained their chunks or the job ends.
func (r *rounds) meetings(epoch uint64) error {
	for {
		mine, at := r.nextMeeting(epoch)
		all, err := r.group.exchange(mine)
		if err == nil {
			r.record(&all)
			err = all.stops()
		}
		if err == nil && all[sayReady] == float64(r.group.place.Nodes) {
			at.complete = all[sayComplete] == float64(r.group.place.Nodes)
			err = r.round(at, &mine, &all)
		}
		if err != nil || at.complete {
			r.final = all
			return err
		}
	}
}

// nextMeeting waits for the next one, and is what this node says in it.
func (r *rounds) nextMeeting(epoch uint64) (mine message, at roundAt) {
	block := r.run.Block
	late := time.After(r.group.interval)
	for {
		// What has been trained is counted after it is known that all of it has.
		complete := r.run.Complete()
		at = roundAt{epoch: epoch}
		if block.Plan.Barrier {
			at.round, at.quiet = block.MergeDue(epoch)
		}
		_, done, lost, loss := block.Progress()
		mine = message{sayNew: float64(done - r.counted), sayDone: float64(done), sayLoss: loss, sayLost: float64(lost)}
		again := r.group.interval
		switch {
		case r.group.stop.Load() != reasonNone:
			return mine, at
		case complete:
			r.noteIdle()
			at.quiet, at.round = true, block.Plan.Rounds-1
			mine[sayReady], mine[sayComplete] = 1, 1
			return mine, at
		case block.Plan.Barrier:
			if at.quiet {
				r.noteIdle()
				mine[sayReady] = 1
				return mine, at
			}
		default:
			if again = r.roundDue(done); again == 0 {
				mine[sayReady] = 1
				return mine, at
			}
		}
		select {
		case <-late:
			return mine, at
		case <-r.wake:
		case <-time.After(again):
		}
	}
}

// roundDue returns after what time to look again whether a round is due in async mode; 0: it is.
func (r *rounds) roundDue(done int) time.Duration {
	n := r.run.Job.Asked.NodeRounds()
	if n == 0 {
		gap := max(leastGap, trainFor*r.cost) - time.Since(r.ended)
		if gap <= 0 && done == r.counted {
			return leastGap
		}
		return max(gap, 0)
	}
	if r.taken+1 < n && n*done >= (r.taken+1)*r.run.Block.Plan.Examples() {
		return 0
	}
	return leastGap
}

// round takes a round, which is due on all nodes.
func (r *rounds) round(at roundAt, mine, all *message) error {
	n := len(r.copied)
	began := time.Now()
	if all[sayNew] > 0 {
		done := r.doneChunks() // before the weights: what these chunks have taught is in them
		if err := r.copyWeights(); err != nil {
			return err
		}
		r.outer.Difference(r.memory[:n], r.copied, mine[sayNew])
		nodes.PackBits(r.memory[n:], done)
		if err := r.group.engine.SumWeights(len(r.memory)); err != nil {
			return err
		}
		var bad atomic.Int64 // a number from 1
		machine.Parts(n, func(from, to int) {
			if i := device.NotFiniteAt(r.memory[from:to]); i >= 0 {
				bad.Store(int64(1 + from + i))
			}
		})
		if i := bad.Load(); i > 0 {
			return r.diverged(fmt.Errorf("weight %d of a node is not finite in epoch %d", i-1, at.epoch))
		}
	}
	r.took(at, all, time.Since(began))
	if all[sayNew] > 0 || at.quiet { // else no node has learned anything, and nothing was copied
		if err := r.correct(at.quiet); err != nil {
			return err
		}
	}
	r.counted += int(mine[sayNew])
	r.taken++
	r.noteWait()
	if block := r.run.Block; block.Plan.Barrier && !at.complete {
		block.Merged(at.epoch, at.round)
	}
	r.ended, r.cost = time.Now(), time.Since(began)
	return nil
}

// copyWeights copies the weights of this node, while its workers train or not.
func (r *rounds) copyWeights() error {
	err := r.ask(r.run.Owner.Refresh)
	if !r.run.Block.Plan.Barrier { // else no worker trains until the round is over, and they are the copy
		machine.Parts(len(r.copied), func(from, to int) { copy(r.copied[from:to], r.run.Weights.W[from:to]) })
	}
	return err
}

// ask makes a call that waits for the device, in the middle of a round. After an error the others would wait for the
// rest of that.
func (r *rounds) ask(call func() error) error {
	err := r.run.CallDevice(r.run.DeviceTimeout, call)
	if err != nil {
		r.group.engine.Abandon()
		r.group.over = true
	}
	return err
}

// correct has the weights take in what other nodes have learned: while no worker trains they become the anchor itself.
func (r *rounds) correct(quiet bool) error {
	if quiet {
		copy(r.run.Weights.W, r.outer.Anchor)
		return r.ask(r.run.Owner.Replace)
	}
	r.outer.Correction(r.copied, r.copied)
	return r.ask(func() error { return r.run.Owner.Add(r.copied) })
}

// Align compares the nodes' anchors, while no worker trains. They are the same to the bit, unless an MPI library has
// not given all nodes the same sum; then all take over node 0's, and it returns how many differed.
func (r *rounds) Align() (differ int, err error) {
	sum := binary.LittleEndian.AppendUint64(nil, r.outer.Checksum())
	first, err := r.group.engine.Share(sum)
	if err != nil {
		return 0, err
	}
	count := []float64{0}
	if !bytes.Equal(first, sum) {
		count[0] = 1
	}
	if err := r.group.engine.Sum(count); err != nil || count[0] == 0 {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range [][]float32{r.outer.Anchor, r.outer.Velocity} {
		if err := r.group.ShareNumbers(part); err != nil {
			return 0, err
		}
	}
	copy(r.run.Weights.W, r.outer.Anchor)
	return int(count[0]), r.run.CallDevice(r.run.DeviceTimeout, r.run.Owner.Replace)
}

// doneChunks returns of each chunk of the whole epoch whether this node has trained it; nil in barrier
// mode, where the round says all.
func (r *rounds) doneChunks() []bool {
	plan := &r.run.Block.Plan
	if plan.Barrier {
		return nil
	}
	done := make([]bool, len(r.last.done))
	for i := range plan.Chunks() {
		state, _ := r.run.Block.Chunk(i)
		done[plan.Global(i)] = state == control.ChunkDone
	}
	return done
}

// took takes the outer step, and notes how far all nodes are.
func (r *rounds) took(at roundAt, all *message, spent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.copied)
	if all[sayNew] > 0 {
		r.outer.Step(r.memory[:n], all[sayNew])
		nodes.UnpackBits(r.last.done, r.memory[n:])
		r.total.Rounds++
		r.total.Bytes += 4 * int64(len(r.memory))
		r.total.SumSeconds += spent.Seconds()
	}
	r.last.at, r.last.examples = at, all[sayDone]
	r.last.loss = all[sayLoss] / max(1, all[sayDone])
}

// noteIdle notes that the workers of this node wait for other nodes.
func (r *rounds) noteIdle() {
	if r.idle.IsZero() {
		r.idle = time.Now()
	}
}

// noteWait adds up for how long no worker of this node had anything to train.
func (r *rounds) noteWait() {
	if r.idle.IsZero() {
		return
	}
	r.mu.Lock()
	r.total.WaitSeconds += time.Since(r.idle).Seconds()
	r.mu.Unlock()
	r.idle = time.Time{}
}

// record keeps what was said in the last meeting.
func (r *rounds) record(all *message) {
	r.mu.Lock()
	r.latest = *all
	r.mu.Unlock()
}
