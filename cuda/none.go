// Package cuda is the device in GPU memory: one CUDA allocation
// that the coordinator makes and exports, and that every worker process opens through
// its IPC handle. It is built with the tag cuda (make cuda), on gorgonia.org/cu and a
// CUDA driver. It knows weights, jobs and kernels, and nothing of processes.
//
// Top down:
//
//	pairs.go      the models of pairs
//	notes.go      what a user should know
//	doctor.go     what hogwild doctor looks at
//	trial.go      the trials that it makes
//	backend.go    the Backend
//	selfcheck.go  a step of the kernel, against the CPU's
//	remote.go     a worker that cannot add to the weights itself
//	kept.go       the copy of the weights that is evaluated
//	choose.go     which GPUs a configuration means
//	owner.go      the coordinator's side of a run
//	sparse.go     linear models on sparse rows
//	scorer.go     the scores of that copy
//	place.go      which rank is where, and how it reaches the weights
//	exchange.go   what such a worker does on the owner's GPU
//	meeting.go    a worker whose steps a program takes
//	add.go        changes from other nodes
//	trainer.go    the Device of a rank
//	dense.go      linear models and perceptrons on dense rows
//	steps.go      chunks to launches
//	stream.go     a set that the GPU's memory does not hold
//	conv.go       convolutional networks
//	family.go     which kernels a model has
//	average.go    barrier mode
//	pipeline.go   launches, one behind the other
//	module.go     the kernels' functions, loaded
//	job.go        what a kernel is told
//	layout.go     where everything is in the allocations
//	image.go      the kernels as they ship
//	ipc.go        memory shared between processes
//	gpu.go        a GPU's context
//	devices.go    the GPUs that may be used
//	service.go    the Multi-Process Service
//	nvml.go       what NVML knows of a GPU
//	errors.go     errors of the driver
//	listing.go    what is said of a machine, with CUDA and without
package cuda
