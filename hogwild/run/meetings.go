package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/nodes"
	"hogwild/internal/machine"
)

// Between two rounds that depend on their cost, a node trains this many times as long as one takes,
// so that less than a fifth of its time is spent on them, but at least for leastGap.
const (
	trainFor = 4
	leastGap = 5 * time.Millisecond
)

// openMeetings begins the meetings of an epoch.
func (r *coordinator) openMeetings(epoch uint64) {
	p := r.peers
	if p == nil {
		return
	}
	done := 0                     // workers may train already
	if p.last.at.epoch == epoch { // it was resumed, and they do not yet
		_, done, _, _ = r.block.Progress()
	} else {
		p.last.begin(epoch, -1)
	}
	p.counted, p.rounds, p.active, p.idle = done, 0, true, time.Time{}
	p.hear(&message{sayDone: float64(done)})
	if n := r.job.NodeRounds(); n > 0 {
		p.rounds = n * done / max(1, r.block.Plan.Examples())
	}
	go func() { p.met <- r.meetings(epoch) }()
}

// meetings are those of an epoch, until all nodes have trained their chunks or the job ends.
func (r *coordinator) meetings(epoch uint64) meeting {
	p := r.peers
	for {
		mine, at := r.nextMeeting(epoch)
		all, err := p.say(mine)
		if err == nil {
			p.hear(&all)
			err = all.stops()
		}
		if err == nil && all[sayReady] == float64(p.place.Nodes) {
			at.complete = all[sayComplete] == float64(p.place.Nodes)
			err = r.nodeRound(at, &mine, &all)
		}
		if err != nil || at.complete {
			return meeting{all, err}
		}
	}
}

// nextMeeting waits for the next one, and is what this node says in it.
func (r *coordinator) nextMeeting(epoch uint64) (mine message, at roundAt) {
	p := r.peers
	late := time.After(p.beat)
	for {
		// What has been trained is counted after it is known that all of it has.
		complete := r.complete()
		at = roundAt{epoch: epoch}
		if r.block.Plan.Barrier {
			at.round, at.quiet = r.block.MergeDue(epoch)
		}
		_, done, lost, loss := r.block.Progress()
		mine = message{sayNew: float64(done - p.counted), sayDone: float64(done), sayLoss: loss, sayLost: float64(lost)}
		again := p.beat
		switch {
		case p.stop.Load() != reasonNone:
			return mine, at
		case complete:
			p.noteIdle()
			at.quiet, at.round = true, r.block.Plan.Rounds-1
			mine[sayReady], mine[sayComplete] = 1, 1
			return mine, at
		case r.block.Plan.Barrier:
			if at.quiet {
				p.noteIdle()
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
		case <-p.wake:
		case <-time.After(again):
		}
	}
}

// roundDue is after what time to look again whether a round is due in async mode; 0: it is.
func (r *coordinator) roundDue(done int) time.Duration {
	p := r.peers
	n := r.job.NodeRounds()
	if n == 0 {
		gap := max(leastGap, trainFor*p.cost) - time.Since(p.ended)
		if gap <= 0 && done == p.counted {
			return leastGap
		}
		return max(gap, 0)
	}
	if p.rounds+1 < n && n*done >= (p.rounds+1)*r.block.Plan.Examples() {
		return 0
	}
	return leastGap
}

// nodeRound takes a round, which is due on all nodes.
func (r *coordinator) nodeRound(at roundAt, mine, all *message) (err error) {
	p, n := r.peers, len(r.peers.copied)
	defer func() {
		if errors.As(err, new(deviceError)) { // in the middle of it: the others wait for the rest
			p.engine.Abandon()
			p.over = true
		}
	}()
	began := time.Now()
	if all[sayNew] > 0 {
		done := r.doneChunks() // before the weights: what these chunks have taught is in them
		if err := r.copyWeights(); err != nil {
			return err
		}
		p.outer.Difference(p.memory[:n], p.copied, mine[sayNew])
		nodes.PackBits(p.memory[n:], done)
		if err := p.engine.SumWeights(len(p.memory)); err != nil {
			return err
		}
		var bad atomic.Int64 // a number from 1
		machine.Parts(n, func(from, to int) {
			if i := device.NotFiniteAt(p.memory[from:to]); i >= 0 {
				bad.Store(int64(1 + from + i))
			}
		})
		if i := bad.Load(); i > 0 {
			return divergence{fmt.Errorf("weight %d of a node is not finite in epoch %d", i-1, at.epoch), r.lowerRate()}
		}
	}
	p.took(at, all, time.Since(began))
	if all[sayNew] > 0 || at.quiet { // else nobody has learned anything, and nothing was copied
		if err := r.correct(at.quiet); err != nil {
			return err
		}
	}
	p.counted += int(mine[sayNew])
	p.rounds++
	p.noteWait()
	if r.block.Plan.Barrier && !at.complete {
		r.block.Merged(at.epoch, at.round)
	}
	p.ended, p.cost = time.Now(), time.Since(began)
	return nil
}

// copyWeights copies the weights of this node, while its workers train or not.
func (r *coordinator) copyWeights() error {
	err := r.ask(r.patience, r.owner.Refresh)
	if !r.block.Plan.Barrier { // else nobody trains until the round is over, and they are the copy
		machine.Parts(len(r.peers.copied), func(from, to int) { copy(r.peers.copied[from:to], r.mem.W[from:to]) })
	}
	return onDevice(err)
}

// correct has the weights take in what other nodes have learned: while nobody trains they become the anchor itself.
func (r *coordinator) correct(quiet bool) error {
	p := r.peers
	if quiet {
		copy(r.mem.W, p.outer.Anchor)
		return onDevice(r.ask(r.patience, r.owner.Replace))
	}
	p.outer.Correction(p.copied, p.copied)
	return onDevice(r.ask(r.patience, func() error { return r.owner.Add(p.copied) }))
}

// score adds up what all nodes' shares of a set come to.
func (p *peers) score(own func() (model.Score, error)) (s model.Score, err error) {
	err = p.together(func() (err error) {
		s, err = own()
		return err
	})
	if err != nil {
		return s, err
	}
	sums := []float64{float64(s.N), s.Loss, float64(s.Correct), s.SqErr, s.Y, s.Y2}
	err = p.engine.Sum(sums)
	return model.Score{N: int(sums[0]), Loss: sums[1], Correct: int(sums[2]), SqErr: sums[3], Y: sums[4], Y2: sums[5]}, err
}

// alignAnchors compares the nodes' anchors, while nobody trains. They are the same to the bit, unless an MPI library
// has not given all nodes the same sum; then all take over node 0's, and it tells how many differed.
func (r *coordinator) alignAnchors() (differ int, err error) {
	p := r.peers
	sum := binary.LittleEndian.AppendUint64(nil, p.outer.Checksum())
	first, err := p.engine.Share(sum)
	if err != nil {
		return 0, err
	}
	count := []float64{0}
	if !bytes.Equal(first, sum) {
		count[0] = 1
	}
	if err := p.engine.Sum(count); err != nil || count[0] == 0 {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range [][]float32{p.outer.Anchor, p.outer.Velocity} {
		if err := p.shareNumbers(part); err != nil {
			return 0, err
		}
	}
	copy(r.mem.W, p.outer.Anchor)
	return int(count[0]), onDevice(r.ask(r.patience, r.owner.Replace))
}

// shareNumbers gives all nodes node 0's numbers, in pieces: a whole copy in bytes would be the largest thing in memory.
func (p *peers) shareNumbers(numbers []float32) error {
	for piece := range slices.Chunk(numbers, 1<<20) {
		var own []byte
		if p.first() {
			own, _ = binary.Append(nil, binary.LittleEndian, piece) // of a known size
		}
		all, err := p.engine.Share(own)
		if err != nil {
			return err
		}
		if _, err := binary.Decode(all, binary.LittleEndian, piece); err != nil {
			return err
		}
	}
	return nil
}

// doneChunks tells of each chunk of the whole epoch whether this node has trained it; nil in barrier
// mode, where the round says all.
func (r *coordinator) doneChunks() []bool {
	plan := &r.block.Plan
	if plan.Barrier {
		return nil
	}
	done := make([]bool, len(r.peers.last.done))
	for i := range plan.Chunks() {
		state, _ := r.block.Chunk(i)
		done[plan.Global(i)] = state == control.ChunkDone
	}
	return done
}

// took takes the outer step, and notes how far all nodes are.
func (p *peers) took(at roundAt, all *message, spent time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.copied)
	if all[sayNew] > 0 {
		p.outer.Step(p.memory[:n], all[sayNew])
		nodes.UnpackBits(p.last.done, p.memory[n:])
		p.total.Rounds++
		p.total.Bytes += 4 * int64(len(p.memory))
		p.total.SumSeconds += spent.Seconds()
	}
	p.last.at, p.last.examples = at, all[sayDone]
	p.last.loss = all[sayLoss] / max(1, all[sayDone])
}

// noteIdle notes that the workers of this node wait for other nodes.
func (p *peers) noteIdle() {
	if p.idle.IsZero() {
		p.idle = time.Now()
	}
}

// noteWait adds up for how long no worker of this node had anything to train.
func (p *peers) noteWait() {
	if p.idle.IsZero() {
		return
	}
	p.mu.Lock()
	p.total.WaitSeconds += time.Since(p.idle).Seconds()
	p.mu.Unlock()
	p.idle = time.Time{}
}

// hear keeps what was said in the last meeting.
func (p *peers) hear(all *message) {
	p.mu.Lock()
	p.heard = *all
	p.mu.Unlock()
}
