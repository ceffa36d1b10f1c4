// conv_tensor.cu: conv.cu for networks whose room is in shared memory, with the products of the convolutions in tf32 on
// tensor cores: conv_tensor.h. GPUs before compute capability 8.0 do not have them.
#define TENSOR
#include "conv.cu"
