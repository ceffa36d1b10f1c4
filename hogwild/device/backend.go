package device

import (
	"cmp"
	"fmt"
	"os"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// Setup is what devices are made from: the run as all its processes know it, and
// this process's view of the host memory that they share. With the weights on a GPU
// that memory is their host copy: what is uploaded at the start, and downloaded to be saved.
type Setup struct {
	Job    *tuning.Job
	Set    *data.Set // the training data
	Spec   model.Spec
	Model  model.Model // of this process, as it is trained
	Params []model.Param

	Weights []float32
	Slots   [][]float32 // barrier mode: each rank's replica or gradient
	States  [][]float32 // each optimizer's, slot after slot: one a rank, or one for all

	Mem      *control.Weights
	Plan     plan.Plan
	Grid     *data.Grid // of entries that lie in blocks; else nil
	Schedule plan.Schedule
	Plain    model.Model // as it is evaluated: without centring
}

// NewSetup returns the setup of a job in this process.
func NewSetup(c *tuning.Job, m *control.Weights, set *data.Set) (*Setup, error) {
	set, err := set.Weighed(c.Asked.ClassWeight)
	if err != nil {
		return nil, err
	}
	s := &Setup{Job: c, Set: set.As(c.Asked.Standard), Weights: m.W, Slots: m.Slots,
		Mem: m, Plan: plan.New(&c.Asked, c.Used.Batch, set.Rows),
		Schedule: plan.NewSchedule(&c.Asked, c.Used.LR, set.Rows)}
	if set.Grid != config.GridOf(&c.Asked) {
		return nil, fmt.Errorf("the data were read for a grid of %d blocks, and mode %s has %d", set.Grid,
			c.Asked.Mode, config.GridOf(&c.Asked))
	}
	if set.Grid > 0 {
		s.Grid = data.NewGrid(set, set.Grid)
		s.Plan = s.Plan.Blocks(s.Grid.Blocks(set))
	}
	if s.Model, err = model.New(c.TrainedOptions(set), set.Meta); err != nil {
		return nil, err
	}
	if s.Plain, err = model.New(c.Asked.ModelOptions(), set.Meta); err != nil {
		return nil, err
	}
	s.Params = s.Model.Params()
	if n := model.Size(s.Params); n != len(m.W) {
		return nil, fmt.Errorf("the model %s has %d weights, the segment %d", c.Asked.Model, n, len(m.W))
	}
	if s.Spec, err = model.Resolve(c.TrainedOptions(set), set.Meta); err != nil {
		return nil, err
	}
	n := c.Asked.Optimizer.Slots() * len(m.W)
	for i := range m.Optimizers {
		s.States = append(s.States, m.State[i*n:(i+1)*n])
	}
	return s, nil
}

// Order returns the order in which a rank visits its rows: see Chunk. A GPU, which computes it too, knows
// no stretches: it holds the rows, or is given them one by one.
func (s *Setup) Order(rank int) data.Order {
	o := s.Plan.Share(max(rank, 0))
	if s.Job.Asked.GPU == "" {
		o.Stretch = s.Set.Stretch()
	}
	return o
}

// Rate returns the learning rate after seen examples of the run.
func (s *Setup) Rate(seen int64) float64 { return s.Schedule.At(s.Schedule.Block(seen)) }

// RecordWords is how many words the samples of a device have: see record.
const RecordWords = control.RecordWords

// Samples reports whether a device is to sample its steps.
func (s *Setup) Samples() bool {
	return os.Getenv(SampleVariable) != "off" && !s.Job.Asked.Mode.Traits().Barrier
}

// Tables returns the parts of the weights whose samples are told apart: see model.Tables.
func (s *Setup) Tables() []model.Table {
	all := model.Tables(s.Model, s.Set, cmp.Or(s.Job.Used.HotRows, model.HotRows))
	if len(all) > control.MostTables {
		return nil
	}
	return all
}

// Slice returns the weights that a rank averages, [from, to).
func (s *Setup) Slice(rank int) (from, to int) {
	return plan.SliceOf(len(s.Weights), rank, s.Job.Asked.Workers)
}

// ShareOf returns the rows of a set that this node evaluates, [from, to): all, if it is alone.
func (s *Setup) ShareOf(set *data.Set) (from, to int) {
	return plan.SliceOf(set.Rows, s.Job.Asked.Node, s.Job.Asked.AllNodes())
}

// Backend is a kind of place where weights can be. Host memory is built in.
type Backend interface {
	// GPUs describes those that the configuration names: none for host memory. An error is the user's to mend.
	GPUs(c *config.Config) (tuning.GPUs, error)
	// Own makes, in the coordinator, the memory of a run. Its contents come later,
	// by Upload. An error is the user's to mend: a device that is not there, or full.
	Own(s *Setup) (Owner, error)
	// Join gives a worker the device of its rank, over the memory that Own made.
	// Handle is the owner's.
	Join(s *Setup, rank int, handle []byte) (Device, error)
}

// Owner is the memory of a run, held by the coordinator, which outlives all workers.
// Its methods are called when no worker trains, but for Refresh, Add, Survey and Score.
//
// Between two epochs the owner keeps a copy of the weights, where they are. Survey and Score look at that
// copy while the next epoch trains, so that nothing of a boundary on a GPU grows with the weights.
type Owner interface {
	Traits() Traits
	Notes() []string       // what the user should know of it
	Where(rank int) string // the device that a rank computes on: cpu, cuda:1
	Handle() []byte        // what Join needs
	Upload() error         // host to device: weights, slots, states
	Download() error       // device to host, all of it
	Refresh() error        // device to host, the weights alone, while workers train
	Replace() error        // host to device, the weights alone
	// weights += delta, as long as the weights, while workers train: none of their updates is lost
	Add(delta []float32) error
	Device(rank int) (Device, error) // of a rank that is gone, in this process
	PutBack(rank int, c plan.Chunk)  // undoes what a dead rank has done of a block's chunk
	Abandon(pid int) error           // ends what a process has in flight, before it is killed

	// Keep makes the copy. The one of host memory is w, as long as the weights, which are in the form in which the run
	// trains them; a GPU leaves w alone. With compare it returns for each tensor of the plain model whether it has
	// changed since the copy before: the first copy is made before the first epoch.
	Keep(w []float32, compare bool) (changed []bool, err error)
	// Survey looks at the copy, as a plain model has it. Without counts it only looks for weights that are not finite.
	Survey(counts bool) (Survey, error)
	// Await says that somebody waits for Survey or Score, which until then leave workers their cores.
	Await()
	// Kept is the copy in host memory, as a plain model has it. It is not the caller's.
	Kept() ([]float32, error)
	// Score evaluates the copy on this node's share of a set, or other plain weights if w is not nil. A GPU
	// keeps the set, which is the same in each call.
	Score(w []float32, set *data.Set) (model.Score, error)
	Close() error
}

// Traits are what a run has to know of the place where its weights are. They stay as they are while it trains.
type Traits struct {
	Name     string   // for the report: cpu, cuda:0
	UUIDs    []string // of GPUs: the first holds the weights
	Names    []string // of these
	File     *os.File // memory that a worker inherits, besides what all have; nil: none
	InFlight int      // steps that run at once; 0: any number, or a program computes
	Inside   bool     // no other process can open the memory: the one worker trains in this process
	// Calls go to a driver: it may never answer, or not start in a worker, and workers sleep and write in it.
	Driver      bool
	InHost      bool // Keep copies to the w that it is given
	SharesCores bool // Survey and Score compute on the cores of the workers
}

// GPUMemory is where the weights are on a GPU. A program opens them there by itself: see package program.
type GPUMemory struct {
	UUID   string
	Handle []byte // of CUDA; nil: this process has none to give away
	Size   int64  // bytes
	// bytes from its start to those that a program trains: all ranks', or in barrier mode the rank's replica
	Weights   int64
	Gradients int64 // the same to the rank's gradient, where those are averaged
	Replica   bool  // the weights of all are elsewhere: Steps merges what the program has trained
}

// Take has a program take the steps of a chunk.
type Take func(plan.Chunk) (plan.ChunkResult, error)

// OnGPU is a Device for a program that computes on a GPU.
type OnGPU interface {
	GPUMemory() GPUMemory
	// Steps has the steps of a chunk taken, all at once or a part at a time, and brings them to the weights of all.
	Steps(c plan.Chunk, take Take) (plan.ChunkResult, error)
}

// backends are the places that the program knows besides host memory.
var backends = map[string]Backend{}

// RegisterBackend adds a backend under the name by which a configuration asks for
// it. The GPU's is "cuda". It is called first thing in main.
func RegisterBackend(name string, b Backend) { backends[name] = b }

// Registered returns the backend of a name; nil if the program has none of it.
func Registered(name string) Backend { return backends[name] }

// SampleVariable set to "off" in the environment switches the samples off, to measure
// what they cost.
const SampleVariable = "HOGWILD_SAMPLES"

// ScatterVariable set to "off" in the environment leaves the columns of sparse rows in order in a GPU's memory, to
// measure what that costs.
const ScatterVariable = "HOGWILD_SCATTER"
