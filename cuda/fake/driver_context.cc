// driver_context.cc: contexts, the primary one of each device first of all, and which
// of them is current on a thread. A context owns streams, events, modules and memory.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "driver_state.h"

namespace driver {

Context::Context(int device, unsigned flags) : device(device), flags(flags) {
  legacy = std::make_shared<Stream>(this, CU_STREAM_DEFAULT, 0);
}

Range Context::find(uint64_t address) const {
  if (settings().checks == Checks::kNone) return {0, 1ull << 62};  // all there is
  std::shared_ptr<Block> block = state().blocks.find(address);
  if (!block) return {};
  if (block->kind == Block::kRegistered && !block->reached_from(this)) return {};
  bool here = block->on_host() || block->device == device;
  if (!here && !(peers >> block->device & 1)) return {};
  return {block->base, block->size, !block->on_host() && (here || settings().p2p != P2P::kNoAtomics)};
}

// Work on the legacy default stream follows all work of the blocking streams, and
// theirs follows its.
Stream::Point Context::enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work,
                               std::vector<Stream::Point> after) {
  std::lock_guard<std::mutex> lock(order_);
  if (stream == legacy) {
    for (const auto& other : streams_) {
      if (!(other->flags & CU_STREAM_NON_BLOCKING)) after.push_back({other, other->last()});
    }
  } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
    after.push_back({legacy, legacy->last()});
  }
  return {stream, stream->push(std::move(after), std::move(work))};
}

void Context::add_stream(std::shared_ptr<Stream> stream) {
  std::lock_guard<std::mutex> lock(order_);
  streams_.push_back(std::move(stream));
}

void Context::remove_stream(const Stream* stream) {
  std::lock_guard<std::mutex> lock(order_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == stream; }),
                 streams_.end());
}

void Context::synchronise() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard<std::mutex> lock(order_);
    all = streams_;
  }
  all.push_back(legacy);
  for (const auto& stream : all) stream->wait(stream->last());
}

void Context::raise(const Fault& fault, const std::string& during) {
  int none = 0;
  if (!state().fault.compare_exchange_strong(none, fault.code)) return;
  const char* name = error_name(fault.code);
  report("==== libcuda stand-in, process " + std::to_string(getpid()) + ", device " + std::to_string(device) + ": " +
         (name ? name : "error") + " (" + std::to_string(fault.code) + ")\n" + fault.text + "\n" + during +
         "\n==== every later call of this process that needs a context returns " + std::to_string(fault.code) + "\n");
}

void Context::clear() {
  synchronise();
  auto mine = [this](const auto& object) { return object.context == this; };
  for (const auto& stream : state().streams.take(mine)) {
    remove_stream(stream.get());
    stream->close();
  }
  state().events.take(mine);
  state().functions.take([this](const Function& f) { return f.module->context == this; });
  state().modules.take(mine);
  for (const auto& block : state().blocks.take(mine)) dispose(*block);
  peers = 0;
}

State::State() : devices(settings().devices) {
  for (int i = 0; i < settings().devices; ++i) {
    devices[i].primary = std::make_shared<Context>(i, 0);
    contexts.add<CUcontext>(devices[i].primary);
  }
}

State& state() {
  static State* const all = new State;
  return *all;
}

void refuse_fault() {
  if (int fault = state().fault) refuse(fault, "a kernel of this process failed: only another process can use GPUs");
}

namespace {

thread_local std::vector<std::shared_ptr<Context>> stack;  // the last is current

CUcontext handle(const Context* context) { return reinterpret_cast<CUcontext>(const_cast<Context*>(context)); }

std::shared_ptr<Context> context_of(CUcontext handle) {
  return state().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT, "no such context");
}

// In exclusive mode the device is the process's that binds its socket; the kernel
// gives it back however the process ends. state().mutex is held.
void occupy(int device) {
  Device& d = state().devices[device];
  if (d.contexts++ > 0) return;
  d.used += settings().context;
  if (settings().exclusive.empty() || under_mps()) return;  // its clients are one process to the GPU
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "hogwild-fake-%u-%s-%d", getuid(),
                   settings().exclusive.c_str(), settings().visible[device]);
  d.lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(d.lock, reinterpret_cast<sockaddr*>(&address), offsetof(sockaddr_un, sun_path) + 1 + n) != 0) {
    close(d.lock);
    d.lock = -1;
    d.contexts--;
    d.used -= settings().context;
    refuse(CUDA_ERROR_DEVICE_UNAVAILABLE, "exclusive mode: another process has a context on this device");
  }
}

void vacate(int device) {
  Device& d = state().devices[device];
  if (--d.contexts > 0) return;
  d.used -= settings().context;
  if (d.lock < 0) return;
  close(d.lock);
  d.lock = -1;
}

}  // namespace

Context& current() {
  require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT, "no context is current on this thread");
  Context& context = *stack.back();
  require(context.alive, CUDA_ERROR_CONTEXT_IS_DESTROYED, "the thread's context is destroyed");
  refuse_fault();
  return context;
}

}  // namespace driver

using namespace driver;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return api(__func__, [&](Call& call) {
    call.number("device", device);
    require_device(device);
    refuse_fault();
    while (settings().context_hang) pause();
    std::lock_guard<std::mutex> lock(state().mutex);
    Device& d = state().devices[device];
    if (d.retained == 0) occupy(device);
    d.retained++;
    d.primary->alive = true;
    *context = handle(d.primary.get());
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return api(__func__, [&](Call& call) {
    call.number("device", device);
    require_device(device);
    std::lock_guard<std::mutex> lock(state().mutex);
    Device& d = state().devices[device];
    require(d.retained > 0, CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
    if (--d.retained > 0) return;
    d.primary->clear();
    d.primary->alive = false;
    d.primary->flags = 0;
    vacate(device);
    refuse_fault();
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return api(__func__, [&](Call& call) {
    call.number("device", device);
    require_device(device);
    std::lock_guard<std::mutex> lock(state().mutex);
    state().devices[device].primary->clear();
    refuse_fault();
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return api(__func__, [&](Call&) {
    require_device(device);
    state().devices[device].primary->flags = flags;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return api(__func__, [&](Call&) {
    require_device(device);
    const Context& primary = *state().devices[device].primary;
    if (flags) *flags = primary.flags;
    if (active) *active = primary.alive;
  });
}

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return api(__func__, [&](Call& call) {
    call.number("device", device);
    require_device(device);
    refuse_fault();
    auto created = std::make_shared<Context>(device, flags);
    std::lock_guard<std::mutex> lock(state().mutex);
    occupy(device);
    created->alive = true;
    *context = state().contexts.add<CUcontext>(created);
    stack.push_back(created);
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Context> doomed = context_of(context);
    std::lock_guard<std::mutex> lock(state().mutex);
    require(doomed != state().devices[doomed->device].primary, CUDA_ERROR_INVALID_CONTEXT,
            "a primary context is released, not destroyed");
    state().contexts.take([&](const Context& c) { return &c == doomed.get(); });
    doomed->clear();
    doomed->legacy->close();
    doomed->alive = false;
    vacate(doomed->device);
    if (!stack.empty() && stack.back() == doomed) stack.pop_back();
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return api(__func__, [&](Call& call) {
    call.address("context", host(context));
    std::shared_ptr<Context> next = context ? context_of(context) : nullptr;
    if (!stack.empty()) stack.pop_back();
    if (next) stack.push_back(next);
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return api(__func__, [&](Call&) { *context = stack.empty() ? nullptr : handle(stack.back().get()); });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return api(__func__, [&](Call&) { stack.push_back(context_of(context)); });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return api(__func__, [&](Call&) {
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT, "no context is current on this thread");
    if (context) *context = handle(stack.back().get());
    stack.pop_back();
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return api(__func__, [&](Call&) {
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT, "no context is current on this thread");
    *device = stack.back()->device;
  });
}

CUresult cuCtxSynchronize() {
  return api(__func__, [&](Call&) {
    current().synchronise();
    wait_longer();
    current();  // refuses what a kernel did meanwhile
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return api(__func__, [&](Call&) {
    Context& context = current();
    require(limit >= 0 && limit < 3, CUDA_ERROR_UNSUPPORTED_LIMIT, "only stack, printf and heap have limits here");
    *value = context.limits[limit];
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return api(__func__, [&](Call&) {
    Context& context = current();
    require(limit >= 0 && limit < 3, CUDA_ERROR_UNSUPPORTED_LIMIT, "only stack, printf and heap have limits here");
    context.limits[limit] = value;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return api(__func__, [&](Call& call) {
    Context& context = current();
    std::shared_ptr<Context> other = context_of(peer);
    call.number("device", context.device);
    call.number("peer", other->device);
    require(flags == 0, CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    require(other->device != context.device, CUDA_ERROR_INVALID_DEVICE, "a device is not its own peer");
    require(settings().p2p != P2P::kOff, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "HOGWILD_FAKE_P2P=off");
    uint64_t bit = 1ull << other->device;
    require(!(context.peers.fetch_or(bit) & bit), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "enabled already");
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return api(__func__, [&](Call&) {
    Context& context = current();
    uint64_t bit = 1ull << context_of(peer)->device;
    require(context.peers.fetch_and(~bit) & bit, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "not enabled");
  });
}
