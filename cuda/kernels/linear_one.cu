// linear_one.cu: linear.cu for launches whose steps have one sample each. Its rows of inputs are single
// floats, and its CTAs have 256 threads, three on a multiprocessor: with 512 it would take
// one, a step 1.7 times the issue slots, and a warp 0.84 of its instructions.
#define ONE
#include "linear.cu"
