// driver_device.cc is the machine that is played: its driver's version and its GPUs,
// each an NVIDIA H200 as far as its limits go.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver_state.h"

namespace driver {
namespace {

// What an H200 answers, except for what the switches decide.
const struct {
  int which, value;
} kH200[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0},
};

int bus(CUdevice device) { return 0x1b + 0x10 * settings().visible[device]; }

void copy_name(char* to, int length, const char* name) {
  require(to && length > 0, CUDA_ERROR_INVALID_VALUE, "no room for the name");
  snprintf(to, length, "%s", name);
}

}  // namespace

void require_device(CUdevice device) {
  require(device >= 0 && device < settings().devices, CUDA_ERROR_INVALID_DEVICE, "no such device");
}

bool under_mps() {
  const char* folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return folder && access((std::string(folder) + "/control").c_str(), F_OK) == 0;
}

int attribute(CUdevice_attribute which, CUdevice device) {
  switch (static_cast<int>(which)) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return settings().sms;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return settings().capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return settings().capability % 10;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT: return settings().watchdog_ms > 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      return settings().exclusive.empty() ? CU_COMPUTEMODE_DEFAULT : CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return bus(device);
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED: return settings().ipc == IPC::kOn;
    case CU_DEVICE_ATTRIBUTE_MPS_ENABLED: return settings().driver < 12040 ? -1 : under_mps();
  }
  for (const auto& a : kH200) {
    if (a.which == static_cast<int>(which)) return a.value;
  }
  return -1;
}

bool initialised() { return state().initialised; }

}  // namespace driver

using namespace driver;

CUresult cuInit(unsigned int flags) {
  return api(__func__, [&](Call&) {
    if (!settings().wrong.empty()) {
      report(settings().wrong);
      refuse(CUDA_ERROR_INVALID_VALUE, settings().wrong);
    }
    if (!trace_works()) {
      report("libcuda stand-in: HOGWILD_FAKE_TRACE=" + settings().trace + " cannot be opened for writing\n");
      refuse(CUDA_ERROR_INVALID_VALUE, "no trace");
    }
    require(flags == 0, CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    while (settings().init_hang) pause();
    require(!settings().no_device, CUDA_ERROR_NO_DEVICE, "HOGWILD_FAKE_NO_DEVICE");
    require(settings().devices > 0, CUDA_ERROR_NO_DEVICE, "CUDA_VISIBLE_DEVICES hides all devices");
    state().initialised = true;
  }, Needs::kNothing);
}

CUresult cuDriverGetVersion(int* version) {
  return api(__func__, [&](Call& call) {
    *version = settings().driver;
    call.number("version", *version);
  }, Needs::kNothing);
}

CUresult cuDeviceGetCount(int* count) {
  return api(__func__, [&](Call& call) {
    *count = settings().devices;
    call.number("count", *count);
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return api(__func__, [&](Call& call) {
    call.number("device", ordinal);
    require_device(ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return api(__func__, [&](Call&) {
    require_device(device);
    copy_name(name, length, "NVIDIA H200 (stand-in)");
  });
}

CUresult cuDeviceGetUuid(CUuuid* id, CUdevice device) {
  return api(__func__, [&](Call&) {
    require_device(device);
    *id = uuid_of(settings().visible[device]);
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* id, CUdevice device) {
  return api(__func__, [&](Call&) {
    require_device(device);
    *id = uuid_of(settings().visible[device]);
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return api(__func__, [&](Call&) {
    require_device(device);
    char text[32];
    snprintf(text, sizeof text, "0000:%02X:00.0", bus(device));
    copy_name(id, length, text);
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return api(__func__, [&](Call& call) {
    require_device(device);
    *bytes = settings().memory;
    call.number("bytes", *bytes);
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return api(__func__, [&](Call& call) {
    call.number("attribute", which);
    require_device(device);
    int known = attribute(which, device);
    require(known >= 0, CUDA_ERROR_INVALID_VALUE, "an attribute that the stand-in does not know");
    *value = known;
    call.number("value", *value);
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return api(__func__, [&](Call& call) {
    require_device(device);
    require_device(peer);
    *can = device != peer && settings().p2p != P2P::kOff;
    call.number("device", device);
    call.number("peer", peer);
    call.number("can", *can);
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to) {
  return api(__func__, [&](Call&) {
    require_device(from);
    require_device(to);
    require(from != to, CUDA_ERROR_INVALID_DEVICE, "a device is not its own peer");
    switch (which) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; break;
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED: *value = settings().p2p != P2P::kOff; break;
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = settings().p2p == P2P::kOn; break;
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 0; break;
      default: refuse(CUDA_ERROR_INVALID_VALUE, "no such attribute");
    }
  });
}
