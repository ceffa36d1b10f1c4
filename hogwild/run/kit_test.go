package run

// What tests of jobs on several nodes share with those of a run. They are in another package, since package peers
// imports this one.
var (
	AsGiven      = asGiven
	Await        = await
	Children     = children
	Ended        = ended
	Finite       = finite
	Furthest     = furthest
	MustOpen     = mustOpen
	Planted      = planted
	Quick        = quick
	RanAs        = ranAs
	Resumed      = resumed
	SavedWeights = savedWeights
	Train        = train
	WeightsOf    = weightsOf
	WithRun      = withRun
	Within       = within
)
