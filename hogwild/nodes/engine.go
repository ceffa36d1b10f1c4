// Package nodes lets several runs, each with its own workers on its own machine, train one set of weights by local SGD:
// it moves numbers between them and takes the outer step. What a model, a worker or an epoch is, it does not know.
//
//	mpi.go        an Engine over MPI
//	helper.go     the process that speaks MPI (mpi/hogwild-mpi.c), and calls to it
//	launcher.go   what an MPI launcher says in the environment
//	inprocess.go  an Engine between goroutines of one process
//	engine.go     Engine: how nodes speak with each other
//	outer.go      Outer: what a round makes of the nodes' weights
//	bits.go       flags that are summed with the weights
package nodes

import (
	"errors"
	"fmt"
)

// Engine is how the nodes of a job speak with each other. Gather, Share, Sum, SumWeights and Leave are
// collective: each returns once all nodes have called it, and all nodes make the same calls in the
// same order. One goroutine at a time may make them.
//
// After an error no further call succeeds: the job is lost, and is continued from its last snapshot.
type Engine interface {
	// Place returns which node this is. It does not communicate.
	Place() Place
	// Gather collects what each node gives, of any length, in node order: on node 0. Elsewhere it returns nil.
	Gather(mine []byte) ([][]byte, error)
	// Share returns node 0's bytes on every node.
	Share(b []byte) ([]byte, error)
	// Sum replaces numbers by their sums over all nodes. It is meant for few of them, and takes no
	// core while it waits for the others.
	Sum(numbers []float64) error
	// Memory is room for n weights, for SumWeights. It keeps its contents until it is asked for more.
	Memory(n int) ([]float32, error)
	// SumWeights replaces weights, the first n of Memory, by their sums over all nodes: the same bits on every node.
	SumWeights(n int) error
	// Leave ends the job in order, on all nodes.
	Leave() error
	// Abandon leaves at once. A collective call that waits returns an error; so do the other nodes' calls, at once or
	// when their timeout is over. After Leave it does nothing.
	Abandon()
}

// Place is a node's place in its job.
type Place struct {
	Node, Nodes int    // Node counts from 0
	Local       int    // which of the nodes on this host it is, from 0
	OnHost      int    // nodes on this host, which share its cores
	Host        string // its name
	Library     string // what moves the numbers: "Open MPI 4.1.4", "in process"
}

// String returns "node 0 of 4 on host".
func (p Place) String() string { return fmt.Sprintf("node %d of %d on %s", p.Node, p.Nodes, p.Host) }

// Errors of an Engine.
var (
	ErrLauncher = errors.New("launcher and hogwild-mpi are of different MPI libraries") // no node can join

	ErrLost   = errors.New("the connection to the other nodes is lost")
	ErrSilent = fmt.Errorf("%w: no answer within --node-timeout", ErrLost)
)
