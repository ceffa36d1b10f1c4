package cpu

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// delay is asynchrony simulated by one worker: updates that are in flight. A gradient
// is computed on the weights as they are, and its update written when others, computed
// before or after it, have been: with delayed:K after exactly K others, as if K + 1
// workers took their steps in turn; with delayed:geometric:K a random one of the K + 1
// updates in flight lands each time, K others before it on average. The random numbers
// come from the seed, the epoch and the step, so that a run can be repeated bit for bit.
//
// At the end of an epoch all that is in flight lands, in the order in which it began:
// between two epochs nothing is outside of the weights, and a run goes on from there
// as if it had not been stopped. A run that is stopped within an epoch, or saved there,
// lands early what is in flight.
//
// What shrinks the weights in addGradient, or in a step that a model takes by itself, does so when the update
// lands; l2 in a gradient waits with it.
type delay struct {
	steps  int // K
	random bool
	seed   uint64

	updates  []pending // K + 1 of them, each in use or to be used again
	inFlight []int     // indices of those in flight, the oldest first
	free     []int
	begun    int // since nothing was in flight
	landed   uint64
	epoch    int
}

// pending is what a step that has not landed has read: coefficients, or a gradient, copied.
type pending struct {
	row   [1]int32  // of a model that takes its steps by itself
	coef  []float32 // of that step
	lr    float64
	at    uint64 // updates that had landed when the weights were read
	full  bool   // all workers that we play were at work by then
	parts []model.Part
	x     []data.Row // the batch's rows
	dense []float32  // of an optimizer with state
	idx   []uint32   // what the parts' slices are views of
	val   []float32
	rows  []data.Row
	mid   []model.Center
}
