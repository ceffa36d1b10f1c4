// Package cuda is the device in GPU memory: one CUDA allocation that the coordinator makes and
// exports, and that every worker process opens through its IPC handle. It knows weights, jobs and
// kernels, and nothing of processes; it is built with the tag cuda (make cuda), on gorgonia.org/cu
// and a CUDA driver.
//
// Top down:
//
//	backend.go    the Backend
//	notes.go      what a user should know
//	selfcheck.go  a step of the kernel, against the CPU's
//	owner.go      the coordinator's side of a run
//	scorer.go     evaluates the copy of the weights
//	kept.go       the copy of the weights that evaluations see
//	add.go        changes from other nodes
//	meeting.go    a worker whose steps a program takes
//	separate.go   the replica of its program, on one of several GPUs
//	merging.go    what brings that to the weights, and back
//	trainer.go    the Device of a rank
//	steps.go      chunks to launches
//	replica.go    a worker's own copy of weights that are elsewhere
//	stream.go     a set that the GPU's memory does not hold
//	average.go    barrier mode
//	family.go     which kernels a model has, and its job
//	sparse.go     linear models on sparse rows
//	dense.go      linear models and perceptrons on dense rows
//	conv.go       convolutional networks
//	pairs.go      the models of pairs
//	skipgram.go   word2vec
//	pipeline.go   launches, one behind the other
//	job.go        what a kernel is told, and what a family of models is
//	place.go      which rank is where, and what it opens
//	doctor.go     what hogwild doctor looks at
//	trial.go      the trials that it makes
//	layout.go     where everything is in the allocations
//	half.go       weights of half precision
//	private.go    an optimizer's state, where the weights are elsewhere
//	mapped.go     weights in host memory, for GPUs that do not reach each other
//	scatter.go    where columns of sparse rows are in GPU memory
//	local.go      weights that a CTA has a copy of, and merges
//	choose.go     which GPUs a configuration means
//	devices.go    the GPUs that may be used
//	nvml.go       what NVML knows of a GPU
//	module.go     the kernels' functions, loaded
//	ipc.go        memory shared between processes
//	gpu.go        a GPU, its context and its memory
//	service.go    the Multi-Process Service
//	image.go      the kernels as they ship
//	listing.go    what is said of a machine, with CUDA and without
//	errors.go     errors of the driver
package cuda
