package rundir

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
)

// node is what one node of a job has in shared memory.
type node struct {
	job   *tuning.Job
	mem   *control.Weights
	block *control.Block
}

const (
	nodeRows  = 1501
	nodeEpoch = 3
)

var nodeParams = []model.Param{{Name: "w", Shape: []int{5}}}

// jobOf returns all nodes of a job, at the start of an epoch.
func jobOf(t *testing.T, c config.Config, nodes int) []node {
	t.Helper()
	all := make([]node, nodes)
	for i := range all {
		c.Node, c.Nodes = i, nodes
		job := tuning.AsAsked(c)
		mem, err := control.CreateWeights(job, model.Size(nodeParams))
		if err != nil {
			t.Fatal(err)
		}
		block, err := control.Create(control.Header{Version: config.Version, Job: *job, Rows: nodeRows,
			Start: control.Start{Epoch: 1}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = mem.Seg.Close()
			_ = block.Seg.Close()
		})
		block.Open(nodeEpoch)
		all[i] = node{job, mem, block}
	}
	return all
}

// resume has all nodes of a job continue from the snapshot in dir, whose file is read once.
func resume(t *testing.T, dir string, all []node) (s *Snapshot, err error) {
	t.Helper()
	read, err := ReadSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		f, err := ParseSnapshot(slices.Clone(read.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		if s, err = f.Load(n.job, nodeParams, nodeParams, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckResume(n.job, data.Meta{Rows: nodeRows}); err != nil {
			return nil, err
		}
		if err := s.Check(nodeParams, nodeParams); err != nil {
			t.Fatal(err)
		}
		h := control.Header{Version: config.Version, Job: *n.job, Rows: nodeRows,
			Start: control.Start{Epoch: s.Pos.Epoch, Base: s.Pos.Base, Round: s.Pos.Round, Rounds: s.Pos.Rounds}}
		if err := n.block.Announce(h); err != nil {
			t.Fatal(err)
		}
		n.block.Set(control.WordEpoch, s.Pos.Epoch)
		if err := s.Restore(n.mem, n.block, n.job.Asked.Optimizer); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// rows returns the rows of the open epoch whose chunks are done, or are not, and the sum of these chunks' losses.
func rows(all []node, done bool) (rows []int32, loss float64) {
	for _, n := range all {
		p := &n.block.Plan
		for i := range p.Chunks() {
			if state, l := n.block.Chunk(i); (state == control.ChunkDone) == done {
				rows = append(rows, rowsOf(p, p.At(nodeEpoch-1, i))...)
				loss += l
			}
		}
	}
	slices.Sort(rows)
	return rows, loss
}

func rowsOf(p *plan.Plan, c plan.Chunk) (rows []int32) {
	order := p.Share(max(c.Rank, 0))
	for c.Count > 0 {
		var step plan.Chunk
		step, c = c.Split(1)
		part := make([]int32, step.Count)
		order.Fill(part, c.Epoch, step.First)
		rows = append(rows, part...)
	}
	return rows
}

// finish marks chunks as done, as a worker would, if their round is at most the last one.
func finish(all []node, is func(p *plan.Plan, i int) bool) (done []bool, examples int, loss float64) {
	done = make([]bool, all[0].block.Plan.AllChunks())
	for _, n := range all {
		p := &n.block.Plan
		for i := range p.Chunks() {
			if c := p.At(nodeEpoch-1, i); is(p, i) {
				n.block.Finish(0, c,
					plan.ChunkResult{Examples: c.Count, Steps: 1, Loss: float64(c.Count) * float64(1+i%3)})
				done[p.Global(i)] = true
			}
		}
		_, n, _, l := n.block.Progress()
		examples, loss = examples+n, loss+l
	}
	return done, examples, loss
}

// save saves what a job has come to.
func save(t *testing.T, all []node, round int, done []bool, examples int, loss float64) (dir string) {
	t.Helper()
	n := all[0]
	s := &Snapshot{Job: *n.job, Meta: data.Meta{Rows: nodeRows, Features: 4, Kind: data.Floats},
		Pos:   Position{Epoch: nodeEpoch, Examples: 2 * nodeRows},
		Outer: []float32{5, 4, 3, 2, 1}}
	for rank, o := range n.mem.Optimizers {
		*o.Steps = uint64(7 + rank)
		for _, slot := range o.Slots {
			slot[1] = float32(rank) + 0.5
		}
	}
	s.CaptureNodes(n.mem, n.block, &NodesRound{Weights: []float32{1, 2, 3, 4, 5}, Round: round, Done: done,
		Examples: examples, Loss: loss})
	dir = t.TempDir()
	if err := s.Save(dir, nodeParams, nodeParams); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sameState fails the test if a node does not have the weights and the optimizers' states that were saved.
func sameState(t *testing.T, s *Snapshot, all []node) {
	t.Helper()
	if !slices.Equal(s.Outer, []float32{5, 4, 3, 2, 1}) {
		t.Errorf("outer momentum %v", s.Outer)
	}
	for i, n := range all {
		if !slices.Equal(n.mem.W, []float32{1, 2, 3, 4, 5}) {
			t.Errorf("node %d has the weights %v", i, n.mem.W)
		}
		for rank, o := range n.mem.Optimizers {
			from := (i*len(n.mem.Optimizers) + rank) % 2 // of the saved node's two
			if *o.Steps != uint64(7+from) || o.Slots[0][1] != float32(from)+0.5 {
				t.Errorf("node %d, rank %d: state %v after %d steps, want that of rank %d", i, rank, o.Slots[0],
					*o.Steps, from)
			}
		}
	}
}

// TestOtherNodesContinue: what three nodes have trained of an epoch, any number of them continues.
func TestOtherNodesContinue(t *testing.T) {
	c := configtest.Dense()
	c.Workers, c.Batch, c.Optimizer = 2, 16, config.Momentum
	was := jobOf(t, c, 3)
	done, examples, loss := finish(was, func(p *plan.Plan, i int) bool {
		return p.Global(i)%5 < 3 ||
			p.Global(i) == p.AllChunks()-1
	})
	want, _ := rows(was, true)
	dir := save(t, was, 0, done, examples, loss)
	for _, nodes := range []int{1, 2, 3, 4, 40} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			all := jobOf(t, c, nodes)
			s, err := resume(t, dir, all)
			if err != nil {
				t.Fatal(err)
			}
			sameState(t, s, all)
			got, sum := rows(all, true)
			if !slices.Equal(got, want) || math.Abs(sum-loss) > 1e-9*loss {
				t.Errorf("%d rows are trained, loss %v, want %d, %v", len(got), sum, len(want), loss)
			}
			left, _ := rows(all, false)
			if len(left)+len(got) != nodeRows {
				t.Errorf("%d rows are left, %d trained", len(left), len(got))
			}
		})
	}
}

// TestOtherNodesContinueAfterARound: in barrier mode other nodes cut the rest of the epoch anew, more than once.
func TestOtherNodesContinueAfterARound(t *testing.T) {
	c := configtest.Dense()
	c.Mode, c.Workers, c.Batch, c.AverageEvery, c.Optimizer = config.MustMode("sync"), 2, 8, 3, config.Momentum
	was := jobOf(t, c, 3)
	upTo := func(last int) func(p *plan.Plan, i int) bool {
		return func(p *plan.Plan, i int) bool {
			_, to := p.Round(0, last)
			return i%p.PerRank < to
		}
	}
	done, examples, loss := finish(was, upTo(3))
	trained, _ := rows(was, true)
	dir := save(t, was, 3, done, examples, loss)
	for _, nodes := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			again := c
			again.Batch = 24 / nodes // as with --global-batch
			all := jobOf(t, again, nodes)
			s, err := resume(t, dir, all)
			if err != nil {
				t.Fatal(err)
			}
			sameState(t, s, all)
			if s.Pos.Base != 4*3*6*8 || s.Pos.BaseDone != examples || s.Pos.BaseLoss != loss ||
				s.Pos.Rounds != 2*was[0].block.Plan.Rounds+4 {
				t.Errorf("position %+v", s.Pos)
			}
			if number := all[0].block.Round(nodeEpoch, 0).Number; number != s.Pos.Rounds+1 {
				t.Errorf("the next round is number %d", number)
			}
			left, _ := rows(all, false)
			if both := slices.Sorted(slices.Values(append(left, trained...))); len(both) != nodeRows ||
				len(slices.Compact(both)) != nodeRows {
				t.Errorf("%d rows are left, %d were trained", len(left), len(trained))
			}

			then, n, l := finish(all, upTo(1))
			before := &Snapshot{Job: *was[0].job, Pos: Position{Epoch: nodeEpoch}}
			before.CaptureNodes(was[0].mem, was[0].block, &NodesRound{Weights: was[0].mem.W, Round: -1})
			if p := before.Pos; p.Within || p.Base != 0 || p.Rounds != 2*was[0].block.Plan.Rounds {
				t.Errorf("a snapshot before the first round is at %+v", p)
			}
			second := &Snapshot{Job: *all[0].job, Pos: s.Pos}
			second.CaptureNodes(all[0].mem, all[0].block,
				&NodesRound{Weights: all[0].mem.W, Round: 1, Done: then, Examples: n, Loss: l})
			if p := second.Pos; p.Base != p.BaseDone || p.Base != examples+n || p.BaseLoss != loss+l ||
				p.Rounds != s.Pos.Rounds+2 {
				t.Errorf("the next snapshot is at %+v", p)
			}
		})
	}
}

// TestSharesKeepTheirRanks: rows that each rank has for itself stay with as many ranks.
func TestSharesKeepTheirRanks(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Dense()
			c.Mode, c.Partition, c.Workers, c.Batch, c.AverageEvery = config.MustMode(mode), "contiguous", 2, 8, 3
			was := jobOf(t, c, 3)
			// a chunk a round in barrier mode
			done, examples, loss := finish(was, func(p *plan.Plan, i int) bool { return i%p.PerRank < 4 })
			want, _ := rows(was, true)
			if mode == "sync" {
				done = nil // the round says it
			}
			dir := save(t, was, 3, done, examples, loss)
			for _, now := range []struct{ nodes, workers int }{{1, 6}, {2, 3}, {6, 1}} {
				c.Workers = now.workers
				all := jobOf(t, c, now.nodes)
				s, err := resume(t, dir, all)
				if err != nil {
					t.Fatal(err)
				}
				if got, sum := rows(all, true); !slices.Equal(got, want) || math.Abs(sum-loss) > 1e-9*loss {
					t.Errorf("%d nodes: %d rows are trained, loss %v, want %d, %v", now.nodes, len(got), sum,
						len(want), loss)
				}
				if first := all[0].block.First(nodeEpoch); mode == "sync" && (first != 4 || s.Pos.Base != 0) {
					t.Errorf("round %d is next, after %d examples", first, s.Pos.Base)
				}
			}
			c.Workers = 2
			_, err := resume(t, dir, jobOf(t, c, 2))
			check.Error(t, err, "the snapshot has workers on all nodes together 6, this run 4: resume with the same")
		})
	}
}
