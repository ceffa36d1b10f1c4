// mlp_tensor.cu: mlp.cu for plain SGD in steps of up to GROUP samples, with products in tf32 on tensor
// cores: tensor.h. GPUs before compute capability 8.0 do not have them.
#define TENSOR
#include "mlp.cu"
