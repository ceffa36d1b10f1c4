// mlp_one.cu: mlp.cu for launches whose steps have one sample each. Its rows of inputs are single
// floats, and its CTAs have 256 threads, three on a multiprocessor: with 512 it would take
// one, a step 1.4 times the issue slots, and a warp 0.72 of its instructions.
#define ONE
#include "mlp.cu"
