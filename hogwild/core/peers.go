package core

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// Peers are the other nodes of a job, with which a run trains one set of weights: see package peers. All nodes make the
// same calls in the same order. A run that has none is alone.
type Peers interface {
	First() bool  // reports whether this node has the run folder and speaks to people
	Name() string // of this node, in front of its lines; "": the run is alone

	// Adopt returns node 0's settings, with those that are this machine's own.
	Adopt(config.Config) (config.Config, error)
	// Agree returns once all nodes have come to it without an error, or the error of one that has one. The settings
	// that each was given have to be the same; nil: they are known to be.
	Agree(given map[string]string, own error) error
	// Settle has all nodes take the same job, once the data with these checksums are read or could not be (own). Choose
	// decides what a run decides for itself, for a machine with this many cores. The note is for people.
	Settle(job *tuning.Job, data []string, own error, choose func(c *config.Config, cores int) (tuning.Tuning, error)) (
		note string, err error)
	// Share returns on every node what f returns on node 0, where alone it is called.
	Share(f func() ([]byte, error)) ([]byte, error)
	// ShareNumbers replaces numbers by node 0's.
	ShareNumbers([]float32) error
	// Score adds up what all nodes' shares of a set come to.
	Score(own func() (model.Score, error)) (model.Score, error)
	// Together returns when f has returned on all nodes, with its error or another node's.
	Together(f func() error) error
	// Start begins the rounds, with the weights as they are: a snapshot's if the run resumes from one.
	// Diverged makes the error of numbers that are not finite.
	Start(m *Memory, from *rundir.Snapshot, at *rundir.Position, diverged func(error) error) (Rounds, error)
	// adds to an error that the connection is lost what to do; folder is the run's, "" on nodes without
	Lost(err error, folder string) error
	// Leave carries out the rest, and returns when the others have nothing left to do either.
	Leave(rest func())
	// Abandon leaves without a word, unless all nodes have come to their end.
	Abandon()
}

// Rounds are what the nodes of a job learn from each other while they train.
type Rounds interface {
	// Align gives all nodes node 0's weights, while no worker trains, and returns how many had others.
	Align() (differ int, err error)
	Open(epoch uint64)    // the workers train an epoch
	Called() (alone bool) // something has changed: the epoch may be complete, which a run that is alone decides
	Closed() <-chan error // the epoch is complete on all nodes, or the job ends
	// Progress returns what all nodes have trained of the open epoch; known is false of a run that is alone.
	Progress() (done, lost int, loss float64, known bool)
	// Capture adds what the nodes keep besides the weights to a snapshot. Of the last round: it makes it one of the
	// state of all then.
	Capture(s *rundir.Snapshot, ofLastRound bool)
	Result() *rundir.Nodes // of the report; nil: the run is alone

	// Ended takes in what Closed has said: it returns why the job ends, nil if an epoch is complete, and a note for
	// people.
	Ended(err error, folder, lastGood string) (why error, note string)
	// Stopping reports whether there is anybody to be told that this node ends the job, and Stop tells them. It reports
	// whether all nodes have completed the epoch meanwhile: then it counts, and Stop is called again after it.
	Stopping() bool
	Stop(why error) (complete bool)
	// Last takes a round once the workers of all nodes have stopped.
	Last(epoch uint64, diverged error) error
	// Break ends them without a word.
	Break()
}

// alone has no peers.
type alone struct{}

func (alone) First() bool                                              { return true }
func (alone) Name() string                                             { return "" }
func (alone) Adopt(c config.Config) (config.Config, error)             { return c, nil }
func (alone) Agree(_ map[string]string, own error) error               { return own }
func (alone) Share(f func() ([]byte, error)) ([]byte, error)           { return f() }
func (alone) ShareNumbers([]float32) error                             { return nil }
func (alone) Align() (int, error)                                      { return 0, nil }
func (alone) Open(uint64)                                              {}
func (alone) Called() bool                                             { return true }
func (alone) Closed() <-chan error                                     { return nil }
func (alone) Progress() (int, int, float64, bool)                      { return 0, 0, 0, false }
func (alone) Together(f func() error) error                            { return f() }
func (alone) Score(f func() (model.Score, error)) (model.Score, error) { return f() }
func (alone) Capture(*rundir.Snapshot, bool)                           {}
func (alone) Result() *rundir.Nodes                                    { return nil }
func (alone) Ended(err error, _, _ string) (error, string)             { return err, "" }
func (alone) Lost(err error, _ string) error                           { return err }
func (alone) Stopping() bool                                           { return false }
func (alone) Stop(error) bool                                          { return false }
func (alone) Last(uint64, error) error                                 { return nil }
func (alone) Leave(rest func())                                        { rest() }
func (alone) Break()                                                   {}
func (alone) Abandon()                                                 {}

func (alone) Settle(job *tuning.Job, _ []string, own error,
	choose func(*config.Config, int) (tuning.Tuning, error)) (string, error) {
	if own != nil {
		return "", own
	}
	t, err := choose(&job.Asked, machine.Cores())
	job.Used = t
	return "", err
}

func (alone) Start(*Memory, *rundir.Snapshot, *rundir.Position, func(error) error) (Rounds, error) {
	return alone{}, nil
}
