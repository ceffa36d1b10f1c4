// driver_function.h is what loading (driver_module.cc) and launching (driver_launch.cc)
// share about a kernel.
#pragma once

#include <algorithm>

#include "driver_state.h"

namespace driver {

std::shared_ptr<Function> function_of(CUfunction handle);
int max_threads(const Kernel& kernel);  // a block
size_t shared_bytes(const Function& function, size_t dynamic);       // a block
uint64_t registers(const Function& function, uint64_t threads);      // a block, as allocated

}  // namespace driver
