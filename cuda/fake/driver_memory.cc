// driver_memory.cc: device memory is memfds, mapped at addresses drawn at random, so
// that no address means the same in two processes. Host memory is the program's own.
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "driver_state.h"

namespace driver {

void Blocks::add(std::shared_ptr<Block> block) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto next = all_.upper_bound(block->base);
  bool free_after = next == all_.end() || next->second->base >= block->base + block->size;
  bool free_before = next == all_.begin() || std::prev(next)->second->base + std::prev(next)->second->size <= block->base;
  require(free_after && free_before, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "overlaps memory that is registered");
  all_[block->base] = std::move(block);
}

std::shared_ptr<Block> Blocks::find(uint64_t address) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto next = all_.upper_bound(address);
  if (next == all_.begin()) return nullptr;
  const std::shared_ptr<Block>& block = std::prev(next)->second;
  return address - block->base < block->size ? block : nullptr;
}

uint64_t random64() {
  uint64_t value;
  require(getrandom(&value, sizeof value, 0) == sizeof value, CUDA_ERROR_OPERATING_SYSTEM, "getrandom failed");
  return value;
}

uint64_t map_at_random(int fd, uint64_t bytes) {
  constexpr uint64_t kFirst = 0x200000000000;  // 16 TiB of addresses that no loader uses
  for (int attempt = 0; attempt < 64; ++attempt) {
    uint64_t address = kFirst + random64() % (1ull << 44) / kGranule * kGranule;
    void* got = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, kPage);
    if (got == reinterpret_cast<void*>(address)) return address;
    if (got != MAP_FAILED) munmap(got, bytes);
  }
  return 0;
}

void dispose(Block& block) {
  void* start = reinterpret_cast<void*>(block.base);
  switch (block.kind) {
    case Block::kDevice:
      require_no_importers(block);
      state().devices[block.device].used -= block.mapped;
      munmap(block.importers, kPage);
      munmap(start, block.mapped);
      close(block.fd);
      break;
    case Block::kImported:
      leave_importers(block);
      munmap(start, block.mapped);
      break;
    case Block::kHost:
      munmap(start, block.mapped);
      break;
    case Block::kRegistered:
    case Block::kVariable:
      break;
  }
}

namespace {

uint64_t free_bytes(int device) {
  uint64_t used = state().devices[device].used;
  return settings().free > used ? settings().free - used : 0;
}

// New memory holds whatever was there before: who reads it unwritten gets NaN, -1 or an
// address that is nowhere.
void stain(uint64_t base, uint64_t bytes) {
  if (!settings().fresh_zero) memset(reinterpret_cast<void*>(base), 0xff, bytes);
}

void reserve(int device, uint64_t bytes) {
  require(!settings().out_of_memory, CUDA_ERROR_OUT_OF_MEMORY, "HOGWILD_FAKE_OOM");
  require(bytes <= free_bytes(device), CUDA_ERROR_OUT_OF_MEMORY, "more than is free on the device");
  state().devices[device].used += bytes;
}

// A new allocation in the context's device.
std::shared_ptr<Block> allocate(Context& context, uint64_t bytes) {
  auto block = std::make_shared<Block>();
  block->kind = Block::kDevice;
  block->size = bytes;
  block->mapped = granules(bytes);
  block->device = context.device;
  block->context = &context;
  reserve(context.device, block->mapped);
  block->fd = memfd_create("cuda device memory", MFD_CLOEXEC);
  bool room = block->fd >= 0 && ftruncate(block->fd, kPage + block->mapped) == 0;
  block->base = room ? map_at_random(block->fd, block->mapped) : 0;
  if (block->base == 0) {
    if (block->fd >= 0) close(block->fd);
    state().devices[context.device].used -= block->mapped;
    refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host refused a memfd of that size");
  }
  make_importers(*block);
  stain(block->base, bytes);
  state().blocks.add(block);
  return block;
}

// Frees the block of this kind that starts at the address, once no work is left that
// may use it.
void free_block(Block::Kind kind, uint64_t address, int code) {
  current().synchronise();
  auto freed = state().blocks.take([&](const Block& b) { return b.kind == kind && b.base == address; });
  require(!freed.empty(), code, "not the start of such an allocation");
  dispose(*freed[0]);
}

void require_pinnable(size_t bytes) {
  uint64_t most = settings().pinned;
  require(most == 0 || bytes <= most, CUDA_ERROR_OUT_OF_MEMORY, "HOGWILD_FAKE_PINNED");
}

void allocate_host(Call& call, void** address, size_t bytes) {
  Context& context = current();
  call.number("bytes", bytes);
  require(bytes > 0, CUDA_ERROR_INVALID_VALUE, "0 bytes");
  require_pinnable(bytes);
  auto block = std::make_shared<Block>();
  block->kind = Block::kHost;
  block->size = bytes;
  block->mapped = (bytes + kPage - 1) / kPage * kPage;
  block->context = &context;
  void* got = mmap(nullptr, block->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(got != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  block->base = host(got);
  stain(block->base, bytes);
  state().blocks.add(block);
  *address = got;
  call.address("address", block->base);
}

}  // namespace
}  // namespace driver

using namespace driver;

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return api(__func__, [&](Call& call) {
    int device = current().device;
    *free = free_bytes(device);
    *total = settings().memory;
    call.number("free", *free);
    call.number("total", *total);
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return api(__func__, [&](Call& call) {
    Context& context = current();
    call.number("bytes", bytes);
    call.number("device", context.device);
    require(address && bytes > 0, CUDA_ERROR_INVALID_VALUE, "0 bytes");
    require(bytes <= settings().memory, CUDA_ERROR_OUT_OF_MEMORY, "more than the device has");
    std::shared_ptr<Block> block = allocate(context, bytes);
    *address = block->base;
    call.address("address", block->base);
    call.address("nonce", block->nonce);
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return api(__func__, [&](Call& call) {
    call.address("address", address);
    if (address == 0) return;
    free_block(Block::kDevice, address, CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return api(__func__, [&](Call& call) {
    call.address("address", address);
    current();
    std::shared_ptr<Block> block = state().blocks.find(address);
    require(block && !block->on_host(), CUDA_ERROR_NOT_FOUND, "no allocation has this address");
    if (base) *base = block->base;
    if (bytes) *bytes = block->size;
  });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned int) {
  return api(__func__, [&](Call& call) { allocate_host(call, address, bytes); });
}

CUresult cuMemAllocHost(void** address, size_t bytes) {
  return api(__func__, [&](Call& call) { allocate_host(call, address, bytes); });
}

CUresult cuMemFreeHost(void* address) {
  return api(__func__, [&](Call& call) {
    call.address("address", host(address));
    free_block(Block::kHost, host(address), CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemHostRegister(void* address, size_t bytes, unsigned int flags) {
  return api(__func__, [&](Call& call) {
    Context& context = current();
    call.address("address", host(address));
    call.number("bytes", bytes);
    require(address && bytes > 0, CUDA_ERROR_INVALID_VALUE, "0 bytes");
    require_pinnable(bytes);
    auto block = std::make_shared<Block>();
    block->kind = Block::kRegistered;
    block->flags = flags;
    block->base = host(address);
    block->size = bytes;
    block->context = &context;
    state().blocks.add(block);
  });
}

CUresult cuMemHostUnregister(void* address) {
  return api(__func__, [&](Call& call) {
    call.address("address", host(address));
    free_block(Block::kRegistered, host(address), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* pinned, unsigned int) {
  return api(__func__, [&](Call&) {
    Context& context = current();
    std::shared_ptr<Block> block = state().blocks.find(driver::host(pinned));
    require(block && block->on_host(), CUDA_ERROR_INVALID_VALUE, "not pinned host memory");
    require(block->kind == Block::kHost || block->reached_from(&context), CUDA_ERROR_INVALID_VALUE, "not mapped for this context");
    *device = driver::host(pinned);
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  return api(__func__, [&](Call& call) {
    call.number("attribute", which);
    call.address("address", address);
    current();
    std::shared_ptr<Block> block = state().blocks.find(address);
    require(block != nullptr, CUDA_ERROR_INVALID_VALUE, "no allocation has this address");
    auto* wide = static_cast<uint64_t*>(value);
    auto* narrow = static_cast<int*>(value);
    switch (which) {
      case CU_POINTER_ATTRIBUTE_CONTEXT: *wide = reinterpret_cast<uint64_t>(block->context); break;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *narrow = block->on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *wide = address; break;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        require(block->on_host(), CUDA_ERROR_INVALID_VALUE, "not host memory");
        *wide = address;
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID: *wide = block->nonce; break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<bool*>(value) = false; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *narrow = block->device; break;
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *static_cast<bool*>(value) = block->kind == Block::kDevice && settings().ipc == IPC::kOn;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *wide = block->base; break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *wide = block->size; break;
      case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<bool*>(value) = true; break;
      default: refuse(CUDA_ERROR_INVALID_VALUE, "an attribute that the stand-in does not know");
    }
  });
}
