package nodes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"hogwild/shm"
)

// mpi is an Engine over MPI, which a helper process speaks. The memory that both have mapped begins
// with the weights; behind them is room for what other calls move.
type mpi struct {
	helper  *helper
	place   Place
	timeout time.Duration
	memory  *shm.Growing
	weights int // bytes

	mu   sync.Mutex
	lost error // what all further calls return
}

// StartMPI joins the job that an MPI launcher has started, as one of its ranks. It starts hogwild-mpi and waits until
// all ranks have done the same, for some minutes. A later call that waits longer than timeout for the others, 0: for
// ever, returns ErrSilent.
//
// The environment must be the launcher's. A process can join once.
func StartMPI(timeout time.Duration) (Engine, error) {
	return startMPI(timeout, startLimit(timeout, Launched().Ranks))
}

// startLimit returns how long a rank waits for the others to join: many load their libraries from one file system, and
// a timeout that suits a running job is short for that.
func startLimit(timeout time.Duration, ranks int) time.Duration {
	if timeout == 0 {
		return 0
	}
	return max(timeout, 2*time.Minute) + time.Duration(ranks)*250*time.Millisecond
}

func startMPI(timeout, start time.Duration) (Engine, error) {
	path, err := findHelper()
	if err != nil {
		return nil, err
	}
	memory, err := shm.CreateGrowing("nodes")
	if err != nil {
		return nil, err
	}
	h, err := startHelper(path, memory.File())
	if err != nil {
		memory.Close()
		return nil, err
	}
	e := &mpi{helper: h, timeout: start, memory: memory}
	a, err := e.call(request{Call: callJoin})
	if err != nil {
		h.close()
		return nil, errors.Join(notJoined(err, start, h.said.end()), memory.Close())
	}
	e.timeout = timeout
	host, _ := os.Hostname() // a name for people
	e.place = Place{Node: int(a.Node), Nodes: int(a.Nodes), Local: int(a.Local), OnHost: int(a.OnHost), Host: host,
		Library: libraryName(a.text())}
	if err := Launched().agrees(e.place); err != nil {
		e.timeout = 5 * time.Second
		return nil, errors.Join(err, e.Leave())
	}
	return e, nil
}

// notJoined says why a rank has not joined. One whose MPI library is the launcher's waits for a rank that does not
// come: another library would be a job of its own, or fail.
func notJoined(err error, limit time.Duration, said string) error {
	l := Launched()
	if errors.Is(err, ErrSilent) {
		return fmt.Errorf("joining the job: not all ranks (%d, says %s) have come within %v: a host cannot be "+
			"reached, or hogwild has not started there%s",
			l.Ranks, cmp.Or(l.Launcher, "nobody"), limit, said)
	}
	if errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w%s", err, l.hint())
	}
	return fmt.Errorf("joining the job: %w", err)
}

// libraryName returns the name and version in what an MPI library says of itself.
func libraryName(text string) string {
	text, _, _ = strings.Cut(text, ",") // "Open MPI v4.1.4, package: ..."
	words := strings.Fields(strings.NewReplacer("Version", "", ":", " ").Replace(text))
	for i, w := range words { // "MPICH Version: 4.0.2"
		words[i] = strings.TrimPrefix(w, "v")
	}
	return strings.Join(words, " ")
}

func (e *mpi) Place() Place { return e.place }

func (e *mpi) Gather(mine []byte) ([][]byte, error) {
	sizes := make([]float64, e.place.Nodes)
	sizes[e.place.Node] = float64(len(mine))
	if err := e.Sum(sizes); err != nil {
		return nil, err
	}
	if e.place.Node != 0 {
		room, err := e.room(len(mine))
		if err != nil {
			return nil, err
		}
		copy(room, mine)
		err = e.move(request{Call: callSend, Count: uint64(len(mine))})
		return nil, errors.Join(err, e.discard(len(mine)))
	}
	all := [][]byte{bytes.Clone(mine)}
	for from, size := range sizes[1:] {
		room, err := e.room(int(size))
		if err != nil {
			return nil, err
		}
		if err := e.move(request{Call: callReceive, From: uint32(from + 1), Count: uint64(size)}); err != nil {
			return nil, err
		}
		all = append(all, bytes.Clone(room))
		if err := e.discard(int(size)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (e *mpi) Share(b []byte) ([]byte, error) {
	size := []float64{0}
	if e.place.Node == 0 {
		size[0] = float64(len(b))
	}
	if err := e.Sum(size); err != nil {
		return nil, err
	}
	room, err := e.room(int(size[0]))
	if err != nil {
		return nil, err
	}
	if e.place.Node == 0 {
		copy(room, b)
	}
	if err := e.move(request{Call: callShare, Count: uint64(len(room))}); err != nil {
		return nil, err
	}
	b = bytes.Clone(room)
	return b, e.discard(len(b))
}

func (e *mpi) Sum(numbers []float64) error {
	room, err := e.room(8 * len(numbers))
	if err != nil {
		return err
	}
	sums := shm.Numbers[float64](room)
	copy(sums, numbers)
	if _, err := e.call(request{Call: callSumDoubles, Count: uint64(len(sums))}); err != nil {
		return err
	}
	copy(numbers, sums)
	return nil
}

func (e *mpi) Memory(n int) ([]float32, error) {
	b, err := e.memory.Grow(4 * n)
	if err != nil {
		return nil, err
	}
	e.weights = max(e.weights, 4*n)
	return shm.Numbers[float32](b)[:n:n], nil
}

func (e *mpi) SumWeights(n int) error {
	if 4*n > e.weights {
		return fmt.Errorf("a sum of %d weights, and Memory was asked for %d", n, e.weights/4)
	}
	return e.move(request{Call: callSumFloats, Count: uint64(n)})
}

// move makes a call that may move much, in pieces: a slow link is not a silent one.
func (e *mpi) move(r request) error {
	size := uint64(1)
	if r.Call == callSumFloats {
		size = 4
	}
	for left := r.Count; ; {
		r.Count = min(left, 64<<20/size)
		if _, err := e.call(r); err != nil {
			return err
		}
		r.Offset += r.Count * size
		if left -= r.Count; left == 0 {
			return nil
		}
	}
}

// scratch returns where the room behind the weights begins.
func (e *mpi) scratch() int {
	const page = 64 << 10
	return (e.weights + page - 1) / page * page
}

// room returns memory for what a call other than SumWeights moves.
func (e *mpi) room(size int) ([]byte, error) {
	start := e.scratch()
	b, err := e.memory.Grow(start + size)
	if err != nil {
		return nil, err
	}
	return b[start : start+size : start+size], nil
}

// discard frees the room if it was large.
func (e *mpi) discard(size int) error {
	if size < 1<<20 {
		return nil
	}
	return e.memory.Discard(e.scratch())
}

// call has the helper do something. The first error ends the connection.
func (e *mpi) call(r request) (*reply, error) {
	if err := e.failed(); err != nil {
		return nil, err
	}
	b, err := e.memory.Grow(1)
	if err != nil {
		return nil, err
	}
	r.Memory = uint64(len(b))
	if r.Call != callSumFloats {
		r.Offset += uint64(e.scratch())
	}
	a, err := e.helper.call(r, e.timeout)
	if err != nil {
		return nil, e.fail(err)
	}
	return a, nil
}

func (e *mpi) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}

// fail sets what all further calls return, and returns it: the first reason counts. The helper is
// not killed: some launchers kill a job whose process has died, and there is something to save first.
func (e *mpi) fail(reason error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == nil {
		e.lost = reason
	}
	return e.lost
}

func (e *mpi) Leave() error {
	const longest = 20 * time.Second // nothing is left to lose, and some libraries hang here
	if e.timeout == 0 || e.timeout > longest {
		e.timeout = longest
	}
	if _, err := e.call(request{Call: callLeave}); err != nil {
		return err
	}
	_ = e.fail(errors.New("this node has left the job"))
	select {
	case <-e.helper.ended:
	case <-time.After(5 * time.Second): // all others have left: nothing depends on it
	}
	e.helper.close()
	return e.memory.Close()
}

// Abandon leaves the memory mapped: somebody may be copying weights.
func (e *mpi) Abandon() {
	_ = e.fail(ErrLost)
	e.helper.close()
}
