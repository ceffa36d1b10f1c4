// driver_test.cc tests the driver half of the stand-in as a program meets it: linked
// against libcuda.so.1, in real processes. Run without arguments it runs each case in a
// process of its own, with that case's switches; "driver_test NAME" runs one here.
#include "driver_test_code.h"
#include "driver_test_ipc.h"
#include "driver_test_switches.h"
#include "driver_test_turns.h"
#include "driver_test_visible.h"

namespace {

void devices() {
  int n = 0, version = 0;
  char name[64];
  CUdevice device;
  const char* text = nullptr;
  REFUSED(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
  OK(cuDriverGetVersion(&version));
  CHECK(version == 12060);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuInit(7));
  OK(cuInit(0));
  OK(cuDeviceGetCount(&n));
  CHECK(n == 1);
  OK(cuDeviceGet(&device, 0));
  REFUSED(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
  OK(cuDeviceGetName(name, sizeof name, 0));
  CHECK(std::string(name) == "NVIDIA H200 (stand-in)");
  OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  CHECK(n == 132);
  OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  CHECK(n == 227 * 1024);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&n, static_cast<CUdevice_attribute>(200), 0));
  OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
  OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "out of memory");
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
  CUgraph graph;
  REFUSED(CUDA_ERROR_NOT_SUPPORTED, cuGraphCreate(&graph, 0));
}

void contexts() {
  OK(cuInit(0));
  CUdeviceptr address;
  CUcontext primary, other, got;
  CUdevice device = -1;
  unsigned flags;
  int active;
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 4));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(reinterpret_cast<CUcontext>(0x1234)));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
  primary = start();
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  CHECK(active == 1);
  OK(cuCtxGetDevice(&device));
  CHECK(device == 0);
  std::thread([&] { REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 4)); }).join();
  CUfunction f = function("small");
  OK(cuCtxCreate(&other, 0, 0));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, launch(f, nullptr, 0));
  OK(cuCtxPopCurrent(&got));
  CHECK(got == other);
  OK(cuCtxGetCurrent(&got));
  CHECK(got == primary);
  OK(cuCtxPushCurrent(other));
  OK(cuCtxDestroy(other));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(other));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(primary));
  OK(cuMemAlloc(&address, 4));
  OK(cuDevicePrimaryCtxRelease(0));
  REFUSED(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 4));
  start();
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));  // it went with its context
}

void memory() {
  start();
  size_t before, after, total, size;
  CUdeviceptr base;
  OK(cuMemGetInfo(&before, &total));
  CUdeviceptr a = allocate(1000);
  CHECK(a % (2 << 20) == 0);
  OK(cuMemGetInfo(&after, &total));
  CHECK(before - after == 2 << 20);
  OK(cuMemGetAddressRange(&base, &size, a + 999));
  CHECK(base == a && size == 1000);
  REFUSED(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, a + 1000));
  std::vector<uint32_t> host(250, 7);
  OK(cuMemcpyHtoD(a, host.data(), 1000));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 4, host.data(), 1000));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host.data()), host.data(), 4));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a + 1, 0, 1));
  OK(cuMemsetD32(a + 8, 9, 2));
  CHECK(word(a + 4) == 7 && word(a + 8) == 9 && word(a + 12) == 9 && word(a + 16) == 7);
  CUdeviceptr b = allocate(1000);
  OK(cuMemcpyDtoD(b, a, 1000));
  CHECK(word(b + 8) == 9);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree(b + 8));
  OK(cuMemFree(b));
  OK(cuMemGetInfo(&after, &total));
  CHECK(before - after == 2 << 20);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemFree(b));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), b, 4));
  REFUSED(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&b, total));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&b, 0));
  OK(cuMemHostRegister(host.data(), 1000, 0));
  REFUSED(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(host.data() + 1, 4, 0));
  OK(cuMemHostUnregister(host.data()));
  REFUSED(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host.data()));
  int kind = 0;
  OK(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  CHECK(kind == CU_MEMORYTYPE_DEVICE);
}

// Kernels read and write registered host memory, copies and fills reach it, atomics do not.
void mapped() {
  CUcontext first = start(0);
  CUdeviceptr at, a = allocate(4);
  static uint32_t host[1024];
  OK(cuMemHostRegister(host, sizeof host, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&at, host, 0));
  OK(cuMemHostUnregister(host));
  OK(cuMemHostRegister(host, sizeof host, CU_MEMHOSTREGISTER_DEVICEMAP));
  OK(cuMemHostGetDevicePointer(&at, host + 1, 0));
  OK(launch(function("store"), nullptr, at, 9));
  OK(cuCtxSynchronize());
  CHECK(host[1] == 9);
  OK(cuMemcpy(a, at, 4));
  CHECK(word(a) == 9);
  OK(cuMemsetD32(at, 4, 2));
  OK(cuMemcpy(at + 8, a, 4));
  OK(cuCtxSynchronize());
  CHECK(host[1] == 4 && host[2] == 4 && host[3] == 9);
  start(1);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&at, host, 0));  // not portable
  OK(cuCtxSetCurrent(first));
  OK(launch(function("add"), nullptr, at, 1));
  REFUSED(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

// A kernel that keeps 100 values in registers.
std::string greedy() {
  std::string loads, stores;
  for (int i = 0; i < 100; ++i) {
    std::string value = "%r" + std::to_string(i), place = "[%rd1+" + std::to_string(4 * i) + "];\n";
    loads += "ld.global.u32 " + value + ", " + place;
    stores += "st.global.u32 " + place.substr(0, place.size() - 2) + ", " + value + ";\n";
  }
  return ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry greedy(.param .u64 greedy_0) {\n"
         ".reg .b64 %rd<2>;\n.reg .b32 %r<100>;\nld.param.u64 %rd1, [greedy_0];\n" + loads + stores + "ret;\n}\n";
}

void launches() {
  start();
  CUmodule module;
  CUfunction store = function("store"), small = function("small"), none;
  CUdeviceptr a = allocate(8);
  REFUSED(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, "this is not PTX"));
  REFUSED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, ".version 9.9\n.target sm_90\n.address_size 64\n"));
  REFUSED(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, machine_code(7, 90).data()));
  REFUSED(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere.ptx"));
  OK(cuModuleLoadData(&module, kPTX));
  REFUSED(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "nothing"));
  OK(launch(store, nullptr, a, 5));
  CHECK(word(a) == 5);
  uint8_t buffer[12];
  uint32_t six = 6;
  size_t size = sizeof buffer;
  memcpy(buffer, &a, 8), memcpy(buffer + 8, &six, 4);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(word(a) == 6);
  size = 4;
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  auto shape = [&](unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared) {
    return cuLaunchKernel(small, gx, gy, 1, bx, 1, bz, shared, nullptr, nullptr, nullptr);
  };
  OK(shape(1, 1, 64, 1, 48 << 10));
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(0, 1, 32, 1, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(1, 65536, 32, 1, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(1, 1, 1025, 1, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(1, 1, 1, 65, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(1, 1, 65, 1, 0));  // .maxntid 64
  REFUSED(CUDA_ERROR_INVALID_VALUE, shape(1, 1, 64, 1, (48 << 10) + 1));
  REFUSED(CUDA_ERROR_INVALID_VALUE,
          cuFuncSetAttribute(small, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (227 << 10) + 1));
  OK(cuFuncSetAttribute(small, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10));
  OK(shape(1, 1, 64, 1, 227 << 10));
  int blocks;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 64, 0));
  CHECK(blocks == 32);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 64, 100 << 10));
  CHECK(blocks == 2);
  REFUSED(CUDA_ERROR_INVALID_HANDLE, launch(reinterpret_cast<CUfunction>(&blocks), nullptr, a));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, launch(store, reinterpret_cast<CUstream>(&blocks), a));
  void* params[] = {&a};
  CUfunction large = function("greedy", greedy().c_str());
  REFUSED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, cuLaunchKernel(large, 1, 1, 1, 1024, 1, 1, 0, nullptr, params, nullptr));
  OK(cuCtxSynchronize());
  // A kernel that writes where nothing is: 700 for ever, in all contexts of the process.
  OK(launch(store, nullptr, a + 8, 1));
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&a, 8));
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, launch(store, nullptr, a, 1));
  CUcontext context;
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxReset(0));
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRelease(0));
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuDevicePrimaryCtxRetain(&context, 0));
  REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxCreate(&context, 0, 0));
}

void CUDA_CB note(CUstream, CUresult status, void* data) {
  size_t free, total;
  *static_cast<std::atomic<int>*>(data) = status == CUDA_SUCCESS ? cuMemGetInfo(&free, &total) : -1;
}

void streams() {
  start();
  CUfunction gate = function("gate"), store = function("store");
  CUstream slow, fast, apart, gone;
  CUevent begin, end, never;
  void* pinned;
  std::atomic<int> called{0};
  float elapsed = -1;
  OK(cuMemHostAlloc(&pinned, 4, 0));
  auto* open = new (pinned) std::atomic<uint32_t>(0);
  CUdeviceptr a = allocate(4), door = reinterpret_cast<CUdeviceptr>(pinned);
  OK(cuMemsetD32(a, 1, 1));
  OK(cuStreamCreate(&slow, CU_STREAM_DEFAULT));
  OK(cuStreamCreate(&fast, CU_STREAM_DEFAULT));
  OK(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
  OK(cuEventCreate(&begin, 0));
  OK(cuEventCreate(&end, 0));
  OK(cuEventCreate(&never, 0));
  OK(cuEventRecord(begin, slow));
  OK(launch(gate, slow, door));
  OK(cuEventRecord(end, slow));
  REFUSED(CUDA_ERROR_NOT_READY, cuStreamQuery(slow));
  REFUSED(CUDA_ERROR_NOT_READY, cuEventQuery(end));
  OK(cuStreamSynchronize(fast));            // streams do not wait for one another
  OK(launch(store, nullptr, a, 2));         // but the default stream does
  OK(launch(store, fast, a, 3));            // and they for it
  OK(cuStreamWaitEvent(apart, end, 0));
  uint32_t seen = 0;
  OK(cuMemcpyDtoHAsync(&seen, a, 4, fast));
  OK(cuStreamAddCallback(apart, note, &called, 0));
  usleep(20000);  // time to do what should wait
  REFUSED(CUDA_ERROR_NOT_READY, cuStreamQuery(fast));
  REFUSED(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  CHECK(called == 0);
  *open = 1;
  OK(cuStreamSynchronize(fast));
  CHECK(seen == 3);
  OK(cuCtxSynchronize());
  CHECK(called == CUDA_ERROR_NOT_PERMITTED);  // callbacks may not call the driver
  OK(cuEventElapsedTime(&elapsed, begin, end));
  CHECK(elapsed >= 0);
  REFUSED(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&elapsed, begin, never));
  OK(cuStreamDestroy(gone));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(gone));
  OK(cuEventDestroy(never));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(never, slow));
}

void p2p_on() { peers(2); }
void p2p_no_atomics() { peers(1); }
void p2p_off() { peers(0); }

// The program ends while a kernel runs and a copy waits: nothing hangs or crashes.
void leaving() {
  start();
  CUdeviceptr a = allocate(4);
  static uint32_t seen;
  OK(cuMemsetD32(a, 0, 1));
  OK(launch(function("gate"), nullptr, a));
  OK(cuMemcpyDtoHAsync(&seen, a, 4, nullptr));
  usleep(20000);
}

void no_device() { REFUSED(CUDA_ERROR_NO_DEVICE, cuInit(0)); }
void misspelt() { REFUSED(CUDA_ERROR_INVALID_VALUE, cuInit(0)); }

void trace() {
  std::string file = getenv("HOGWILD_FAKE_TRACE"), text(1 << 16, '\0');
  start();
  allocate(12345);
  int fd = open(file.c_str(), O_RDONLY);
  ssize_t n = read(fd, &text[0], text.size());
  text.resize(n > 0 ? n : 0);
  unlink(file.c_str());
  std::string pid = "{\"pid\":" + std::to_string(getpid()) + ",";
  CHECK(text.find(pid + "\"call\":\"cuInit\",\"result\":0}\n") == 0);
  CHECK(text.find(pid + "\"call\":\"cuMemAlloc\",\"bytes\":12345,\"device\":0,\"address\":\"0x") != text.npos);
}

const struct {
  const char* name;
  void (*run)();
  std::vector<std::string> switches;
} cases[] = {
    {"devices", devices, {}},
    {"visible", visible, {"DEVICES=4"}},
    {"visible by uuid", visible_by_uuid, {"DEVICES=4"}},
    {"invisible", invisible, {"DEVICES=4"}},
    {"contexts", contexts, {}},
    {"memory", memory, {}},
    {"launches", launches, {}},
    {"streams", streams, {}},
    {"sharing", sharing, {}},
    {"mapped", mapped, {"DEVICES=2"}},
    {"p2p on", p2p_on, {"DEVICES=2"}},
    {"p2p no-atomics", p2p_no_atomics, {"DEVICES=2", "P2P=no-atomics"}},
    {"p2p off", p2p_off, {"DEVICES=2", "P2P=off"}},
    {"little memory", little_memory, {"MEMORY=64MiB", "FREE=6M"}},
    {"no memory", no_memory, {"OOM=1"}},
    {"context takes memory", context_takes_memory, {"CONTEXT=400MiB"}},
    {"fresh ones", fresh_ones, {}},
    {"fresh zero", fresh_zero, {"FRESH=zero"}},
    {"late copies", late_copies, {"LATE_COPIES=50"}},
    {"max threads", max_threads, {"MAX_THREADS=128"}},
    {"no ipc", no_ipc, {"NO_IPC=1"}},
    {"launch fails", launch_fails, {"LAUNCH_FAIL=2"}},
    {"launch hangs", launch_hangs, {"LAUNCH_HANG=2"}},
    {"slow waits", slow_waits, {"SLOW_WAITS=50"}},
    {"watchdog", watchdog, {"WATCHDOG=50"}},
    {"leaving", leaving, {}},
    {"exclusive", exclusive, {"EXCLUSIVE=test-" + std::to_string(getpid())}},
    {"turns", turns, {turns_file()}},
    {"no turns under mps", no_turns, {turns_file()}},
    {"killed in its turn", killed_in_its_turn, {turns_file()}},
    {"machine code alone", machine_code_alone, {"CUBINS=1", "NO_JIT=1", "CAPABILITY=8.6"}},
    {"old driver", old_driver, {"DRIVER=11040"}},
    {"no device", no_device, {"NO_DEVICE=1"}},
    {"unknown switch", misspelt, {"DEVICE=2"}},
    {"unknown value", misspelt, {"P2P=maybe"}},
    {"trace", trace, {"TRACE=/tmp/driver_test." + std::to_string(getpid())}},
};

// Runs a case in a process of its own; the answer is how it ended.
int run_apart(const char* name, const std::vector<std::string>& switches) {
  pid_t pid = fork();
  if (pid == 0) {
    for (const std::string& s : switches) {
      size_t equals = s.find('=');
      setenv(("HOGWILD_FAKE_" + s.substr(0, equals)).c_str(), s.substr(equals + 1).c_str(), 1);
    }
    alarm(60);
    execl("/proc/self/exe", "driver_test", name, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  int failed = 0;
  if (count > 1 && strcmp(arguments[1], "peer") == 0) {
    peer();
    return 0;
  }
  for (const auto& c : cases) {
    if (count > 1) {
      if (strcmp(arguments[1], c.name) == 0) c.run();
      continue;
    }
    int status = run_apart(c.name, c.switches);
    printf("%s %s\n", status == 0 ? "ok    " : "FAILED", c.name);
    failed += status != 0;
  }
  return failed + failures > 0;
}
