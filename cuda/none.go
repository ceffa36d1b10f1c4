// Package cuda is the device in GPU memory: one CUDA allocation
// that the coordinator makes and exports, and that every worker process opens through
// its IPC handle. It is built with the tag cuda (make cuda), on gorgonia.org/cu and a
// CUDA driver. It knows weights, jobs and kernels, and nothing of processes.
//
// backend.go joins it to hogwild. owner.go is the coordinator's side, trainer.go a worker's,
// remote.go and exchange.go that of a worker which trains a replica, and meeting.go that of one
// whose steps a program takes. layout.go says where
// in the allocations everything is, job.go what a kernel is told, family.go which kernels a
// model has. steps.go cuts chunks into launches, pipeline.go queues those; kept.go and scorer.go look at what
// an epoch came to; ipc.go, gpu.go,
// module.go, image.go and errors.go are the driver. devices.go, service.go and doctor.go look at the machine.
package cuda
