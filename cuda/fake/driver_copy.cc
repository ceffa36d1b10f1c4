// driver_copy.cc: copies and fills. Each is work in a stream; a copy to or from the host
// without a stream is waited for, a fill and a copy within devices is not, as on a GPU.
// An asynchronous copy touches the host's memory when its turn comes, never before: a
// program that frees or changes it too early is caught, not helped.
#include <chrono>
#include <cstring>

#include "driver_state.h"

namespace driver {
namespace {

enum Wait { kWait, kGoOn };

void require_device_range(uint64_t address, size_t bytes) {
  std::shared_ptr<Block> block = state().blocks.find(address);
  require(block && bytes <= block->base + block->size - address, CUDA_ERROR_INVALID_VALUE,
          "the device's range is not within one allocation");
}

// A range that begins in an allocation ends in it; any other is the host's.
void require_any_range(uint64_t address, size_t bytes) {
  if (state().blocks.find(address)) require_device_range(address, bytes);
}

// Does the work in the stream, unless a kernel failed before.
void submit(const std::shared_ptr<Stream>& stream, Wait wait, std::function<void()> work) {
  Context* context = stream->context;
  Stream::Point point = context->enqueue(stream, [work] {
    if (!state().fault) work();
  });
  if (wait == kGoOn) return;
  point.wait();
  wait_longer();
  refuse_fault();
}

enum Ends { kToDevice = 1, kFromDevice = 2, kUnified = 4 };

void copy(Call& call, CUstream in, uint64_t to, uint64_t from, size_t bytes, int ends, Wait wait) {
  current();
  call.address("to", to);
  call.address("from", from);
  call.number("bytes", bytes);
  call.address("stream", host(in));
  std::shared_ptr<Stream> stream = stream_of(in);
  if (bytes == 0) return;
  require(to && from, CUDA_ERROR_INVALID_VALUE, "a null pointer");
  if (ends & kToDevice) require_device_range(to, bytes);
  if (ends & kFromDevice) require_device_range(from, bytes);
  if (ends & kUnified) require_any_range(to, bytes), require_any_range(from, bytes);
  submit(stream, wait, [=] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}

// From memory that is not pinned a copy goes by way of the driver's own: it may return once
// the bytes are there.
void copy_late(Call& call, CUdeviceptr to, const void* from, size_t bytes) {
  auto own = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  std::shared_ptr<Stream> stream = stream_of(nullptr);
  stream->wait(stream->last());
  submit(stream, kGoOn, [own] { std::this_thread::sleep_for(std::chrono::milliseconds(settings().late_copies_ms)); });
  copy(call, nullptr, to, host(own->data()), bytes, kToDevice, kGoOn);
  submit(stream, kGoOn, [own] {});  // keeps it until then
}

template <class T>
void fill(Call& call, CUstream in, uint64_t to, T value, size_t count) {
  current();
  call.address("to", to);
  call.number("bytes", count * sizeof(T));
  std::shared_ptr<Stream> stream = stream_of(in);
  if (count == 0) return;
  require(to % sizeof(T) == 0, CUDA_ERROR_INVALID_VALUE, "the address is not a multiple of the value's size");
  require_device_range(to, count * sizeof(T));
  submit(stream, kGoOn, [=] {
    T* first = reinterpret_cast<T*>(to);
    std::fill(first, first + count, value);
  });
}

void require_context(CUcontext context) {
  state().contexts.get(context, CUDA_ERROR_INVALID_CONTEXT, "no such context");
}

}  // namespace
}  // namespace driver

using namespace driver;

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return api(__func__, [&](Call& call) { copy(call, nullptr, to, from, bytes, kUnified, kWait); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return api(__func__, [&](Call& call) { copy(call, stream, to, from, bytes, kUnified, kGoOn); });
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return api(__func__, [&](Call& call) {
    if (settings().late_copies_ms > 0 && !state().blocks.find(host(from))) copy_late(call, to, from, bytes);
    else copy(call, nullptr, to, host(from), bytes, kToDevice, kWait);
  });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return api(__func__, [&](Call& call) { copy(call, stream, to, host(from), bytes, kToDevice, kGoOn); });
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return api(__func__, [&](Call& call) { copy(call, nullptr, host(to), from, bytes, kFromDevice, kWait); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return api(__func__, [&](Call& call) { copy(call, stream, host(to), from, bytes, kFromDevice, kGoOn); });
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return api(__func__, [&](Call& call) { copy(call, nullptr, to, from, bytes, kToDevice | kFromDevice, kGoOn); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return api(__func__, [&](Call& call) { copy(call, stream, to, from, bytes, kToDevice | kFromDevice, kGoOn); });
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  return api(__func__, [&](Call& call) {
    require_context(to_context);
    require_context(from_context);
    copy(call, nullptr, to, from, bytes, kToDevice | kFromDevice, kGoOn);
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  return api(__func__, [&](Call& call) {
    require_context(to_context);
    require_context(from_context);
    copy(call, stream, to, from, bytes, kToDevice | kFromDevice, kGoOn);
  });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return api(__func__, [&](Call& call) { fill<uint8_t>(call, nullptr, to, value, count); });
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return api(__func__, [&](Call& call) { fill<uint16_t>(call, nullptr, to, value, count); });
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count) {
  return api(__func__, [&](Call& call) { fill<uint32_t>(call, nullptr, to, value, count); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return api(__func__, [&](Call& call) { fill<uint8_t>(call, stream, to, value, count); });
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return api(__func__, [&](Call& call) { fill<uint16_t>(call, stream, to, value, count); });
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return api(__func__, [&](Call& call) { fill<uint32_t>(call, stream, to, value, count); });
}
