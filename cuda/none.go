// Package cuda is the device in GPU memory: one CUDA allocation
// that the coordinator makes and exports, and that every worker process opens through
// its IPC handle. It is built with the tag cuda (make cuda), on gorgonia.org/cu and a
// CUDA driver. It knows weights, jobs and kernels, and nothing of processes.
//
// backend.go joins it to hogwild; owner.go is the coordinator's side and device.go a
// worker's; layout.go says where in the allocation everything is; job.go is what a
// kernel is told; ipc.go, gpu.go, module.go and errors.go are the driver.
package cuda
