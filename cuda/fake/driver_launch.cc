// driver_launch.cc: cuLaunchKernel, from what a GPU would refuse to the report of what
// a kernel did wrong.
#include <chrono>
#include <cstring>

#include "driver_function.h"

namespace driver {

using fake::Launch;

namespace {

std::string triple(const uint32_t* n) {
  return std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]);
}

void require_dimensions(const uint32_t* n, int first_limit, const char* why) {
  for (int i = 0; i < 3; ++i) {
    auto which = static_cast<CUdevice_attribute>(first_limit + i);
    require(n[i] > 0 && n[i] <= static_cast<uint32_t>(attribute(which, 0)), CUDA_ERROR_INVALID_VALUE, why);
  }
}

void require_fits(const Launch& launch, const Function& function) {
  require_dimensions(launch.grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, "the grid has no blocks, or too many");
  require_dimensions(launch.block, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, "the block has no threads, or too many");
  uint64_t threads = 1ull * launch.block[0] * launch.block[1] * launch.block[2];
  require(threads <= 1024, CUDA_ERROR_INVALID_VALUE, "more than 1,024 threads a block");
  require(threads <= static_cast<uint64_t>(max_threads(*launch.kernel)), CUDA_ERROR_INVALID_VALUE,
          "more threads a block than the kernel was compiled for");
  require(registers(function, threads) <= 65536, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
          "more registers than an SM has");
  require(launch.shared_bytes <= function.max_dynamic_shared, CUDA_ERROR_INVALID_VALUE,
          "more shared memory than the function may have: see cuFuncSetAttribute");
}

// The block of parameters from one pointer each, or from the buffer that extra names.
std::vector<uint8_t> parameters(const Kernel& kernel, void** params, void** extra) {
  std::vector<uint8_t> bytes(kernel.parameter_bytes);
  require(!(params && extra), CUDA_ERROR_INVALID_VALUE, "parameters are given twice");
  if (params) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      require(params[i] != nullptr, CUDA_ERROR_INVALID_VALUE, "a parameter is a null pointer");
      memcpy(&bytes[kernel.parameters[i].offset], params[i], kernel.parameters[i].size);
    }
    return bytes;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[1]);
    else refuse(CUDA_ERROR_INVALID_VALUE, "an unknown extra");
  }
  require(size == bytes.size() && (buffer || size == 0), CUDA_ERROR_INVALID_VALUE,
          "not as many bytes of parameters as the kernel takes");
  if (size > 0) memcpy(bytes.data(), buffer, size);
  return bytes;
}

// Watchdog sets cancel once the launch has run too long.
class Watchdog {
 public:
  explicit Watchdog(uint64_t milliseconds) {
    if (milliseconds == 0) return;
    thread_ = std::thread([this, milliseconds] {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return done_; })) cancel = true;
    });
  }
  ~Watchdog() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  std::atomic<bool> cancel{false};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

void execute(Context& context, Launch& launch) {
  if (state().fault) return;
  while (launch.seed == settings().launch_hang) std::this_thread::sleep_for(std::chrono::hours(1));
  Fault fault;
  if (launch.seed == settings().launch_fail) {
    fault = {CUDA_ERROR_LAUNCH_FAILED, "kernel " + launch.kernel->name + " did not run: HOGWILD_FAKE_LAUNCH_FAIL"};
  } else {
    Watchdog watchdog(settings().watchdog_ms);
    launch.cancel = &watchdog.cancel;
    fault = run_in_turns(context.device, launch);
  }
  if (fault.code == 0) return;
  context.raise(fault, "in launch " + std::to_string(launch.seed) + " of the process, grid " + triple(launch.grid) +
                           ", block " + triple(launch.block));
}

}  // namespace
}  // namespace driver

using namespace driver;

CUresult cuLaunchKernel(CUfunction handle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream in, void** params, void** extra) {
  return api(__func__, [&](Call& call) {
    Context* context = &current();
    std::shared_ptr<Function> function = function_of(handle);
    std::shared_ptr<Stream> stream = stream_of(in);
    require(function->module->module != nullptr, CUDA_ERROR_NOT_SUPPORTED, "machine code is not interpreted");
    require(function->module->context == context && stream->context == context, CUDA_ERROR_INVALID_HANDLE,
            "the function or the stream is of another context");
    bool all = settings().checks == Checks::kAll;
    auto launch = std::make_shared<Launch>(Launch{function->kernel, {grid_x, grid_y, grid_z},
                                                  {block_x, block_y, block_z}, shared, {}, context, 0, all, all, nullptr});
    call.text("kernel", function->kernel->name);
    call.text("grid", triple(launch->grid));
    call.text("block", triple(launch->block));
    call.number("shared", shared);
    call.number("device", context->device);
    require_fits(*launch, *function);
    launch->params = parameters(*function->kernel, params, extra);
    launch->seed = static_cast<uint32_t>(++state().launches);
    context->enqueue(stream, [context, function, launch] { execute(*context, *launch); });
  });
}
