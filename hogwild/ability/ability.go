// Package ability has what a run can do besides training where that fits in a file or two: each hears of the run's
// events (core.Ability), knows no other one, and can be taken away with its files.
//
//	ability.go      this list
//	hung.go         workers that hang
//	initweights.go  first weights from a file or another run
//	initnames.go    what each row of them is of, and a first layer for other scaled inputs
//	finaltest.go    the test at the end
//	dual.go         the duality gap of linear classifiers
//	exact.go        the optimum of linear regressions: when it is looked for, and whose weights are taken
//	exactsolve.go   the same: how it is found
//	stop.go         early stopping
//	curvature.go    the limit of steps in flight
//	unused.go       parameters that no gradient reaches
//	rollback.go     back after divergence
package ability
