package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Variables that make a process of the test binary a rank of an MPI job: what it does, and
// where it says how it went.
const (
	rankVariable   = "HOGWILD_TEST_RANK"
	folderVariable = "HOGWILD_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	what := os.Getenv(rankVariable)
	if what == "" {
		os.Exit(m.Run())
	}
	e, err := StartMPI(30 * time.Second)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r := rank{e.(*mpi), os.Getenv(folderVariable)}
	r.write("pids", fmt.Sprint(os.Getpid(), " ", r.helper.cmd.Process.Pid))
	switch what {
	case "calls":
		err = errors.Join(r.sums(), r.bytes(), r.Leave())
	case "late":
		err = errors.Join(r.late(), r.Leave())
	case "forever":
		err = r.forever()
	case "impatient":
		r.timeout = time.Second
		err = r.forever()
		r.awaitAll() // the launcher kills the others when one ends
	}
	e.Abandon()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// rank is one rank of a job.
type rank struct {
	*mpi
	folder string
}

// write makes a file of this rank, whole at once.
func (r *rank) write(name, text string) {
	path := filepath.Join(r.folder, fmt.Sprint(r.place.Node, name))
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o666), os.Rename(path+".new", path)); err != nil {
		panic(err)
	}
}

// sums compares sums of weights with their closed form; the last one takes more than one piece.
func (r *rank) sums() error {
	n := r.place.Nodes
	if want := (Place{Node: r.place.Node, Nodes: n, Local: r.place.Node, OnHost: n, Host: r.place.Host,
		Library: r.place.Library}); r.place != want {
		return fmt.Errorf("the place is %+v", r.place)
	}
	var first []float32
	for _, size := range []int{1, 7, 1<<20 + 1, 16<<20 + 3} {
		w, err := r.Memory(size)
		if err != nil {
			return err
		}
		for i := range w {
			w[i] = float32(r.place.Node + i%7)
		}
		if err := r.SumWeights(size); err != nil {
			return err
		}
		for i, v := range w {
			if want := float32(n*(n-1)/2 + n*(i%7)); v != want {
				return fmt.Errorf("weight %d of %d is %v, want %v", i, size, v, want)
			}
		}
		if first == nil {
			first = w
		}
		w[0] = 5
		if numbers := []float64{1, float64(r.place.Node)}; r.Sum(numbers) != nil || numbers[0] != float64(n) ||
			numbers[1] != float64(n*(n-1)/2) {
			return fmt.Errorf("the sums are %v", numbers)
		}
		if w[0] != 5 || first[0] != 5 {
			return fmt.Errorf("memory of %d weights is not what it was", size)
		}
	}
	return nil
}

// bytes moves texts of unequal lengths.
func (r *rank) bytes() error {
	text := func(node, size int) []byte { return bytes.Repeat([]byte{byte('a' + node)}, size*node) } // node 0 has none
	for _, size := range []int{0, 1, 3 << 20} {
		all, err := r.Gather(text(r.place.Node, size))
		if err != nil || (all == nil) != (r.place.Node > 0) {
			return fmt.Errorf("gathered %d (%w)", len(all), err)
		}
		for node, got := range all {
			if !bytes.Equal(got, text(node, size)) {
				return fmt.Errorf("node %d gave %d bytes, not %d", node, len(got), size*node)
			}
		}
		got, err := r.Share(text(r.place.Node+1, size))
		if err != nil || !bytes.Equal(got, text(1, size)) {
			return fmt.Errorf("node 0 shared %d bytes, not %d (%w)", len(got), size, err)
		}
	}
	return nil
}

// late writes which share of a core the helper took while it waited for rank 1.
func (r *rank) late() error {
	if err := r.Sum([]float64{1}); err != nil {
		return err
	}
	const late = 2 * time.Second
	if r.place.Node == 1 {
		time.Sleep(late)
	}
	before := r.ticks()
	err := r.Sum([]float64{1})
	r.write("end", fmt.Sprint(float64(r.ticks()-before)/100/late.Seconds()))
	return err
}

// ticks returns the processor time of the helper, in 1/100 s.
func (r *rank) ticks() (all int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.helper.cmd.Process.Pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')'):])
	for _, f := range fields[12:14] {
		var n int
		fmt.Sscan(string(f), &n)
		all += n
	}
	return all
}

// forever sums until that fails, and writes why.
func (r *rank) forever() error {
	_, err := r.Memory(100_000)
	for err == nil {
		time.Sleep(time.Millisecond)
		if err = r.Sum([]float64{1}); err == nil {
			err = r.SumWeights(100_000)
		}
	}
	if again := r.Sum([]float64{1}); again == nil || again.Error() != err.Error() {
		err = fmt.Errorf("after %w the next call said %w", err, again)
	}
	r.write("end", err.Error())
	return err
}

// awaitAll waits until all ranks have written why they end.
func (r *rank) awaitAll() {
	for range 1000 {
		if ends, _ := filepath.Glob(filepath.Join(r.folder, "*end")); len(ends) == r.place.Nodes {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
