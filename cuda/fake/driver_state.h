// driver_state.h names what the stand-in driver keeps: devices, contexts, blocks of
// memory, streams, events and modules. One State a process, made once and never
// destroyed, so that threads may use it while the process ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "driver.h"
#include "engine.h"

namespace driver {

using fake::Fault;
using fake::Kernel;
using fake::Range;

class Context;
struct Importers;  // driver_ipc.cc

// Table holds the objects that the program knows by handle, a handle being the
// object's address: any other handle is refused, not followed.
template <class T>
class Table {
 public:
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    std::lock_guard<std::mutex> lock(mutex_);
    T* key = object.get();
    all_[key] = std::move(object);
    return reinterpret_cast<Handle>(key);
  }
  std::shared_ptr<T> get(const void* handle, int code, const char* why) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = all_.find(handle);
    require(found != all_.end(), code, why);
    return found->second;
  }
  // Takes out and returns all that satisfy the condition.
  template <class Condition>
  std::vector<std::shared_ptr<T>> take(Condition condition) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<T>> taken;
    for (auto i = all_.begin(); i != all_.end();) {
      if (!condition(*i->second)) {
        ++i;
        continue;
      }
      taken.push_back(i->second);
      i = all_.erase(i);
    }
    return taken;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> all_;
};

// Block is a piece of memory that a kernel may touch.
struct Block {
  enum Kind { kDevice, kImported, kHost, kRegistered, kVariable };
  Kind kind;
  uint64_t base = 0, size = 0;  // bytes that the program asked for
  uint64_t mapped = 0;          // bytes that are mapped, in granules of 2 MiB
  int device = 0;               // whose memory it is
  Context* context = nullptr;
  int fd = -1;                     // kDevice: the memfd
  Importers* importers = nullptr;  // kDevice, kImported: its first page
  uint64_t nonce = 0;              // names the allocation in all processes
  int references = 1;              // kImported: opened so often
  unsigned flags = 0;              // kRegistered: those of the call
  bool on_host() const { return kind == kHost || kind == kRegistered; }
  // Whether kernels of a context reach registered memory, and it has an address for them.
  bool reached_from(const Context* c) const {
    return (flags & CU_MEMHOSTREGISTER_DEVICEMAP) && (c == context || (flags & CU_MEMHOSTREGISTER_PORTABLE));
  }
};

// Blocks are all of them in this process, by address.
class Blocks {
 public:
  void add(std::shared_ptr<Block> block);  // refusal 712 when it overlaps another
  std::shared_ptr<Block> find(uint64_t address) const;
  template <class Condition>
  std::shared_ptr<Block> first(Condition condition) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& entry : all_) {
      if (condition(*entry.second)) return entry.second;
    }
    return nullptr;
  }
  template <class Condition>
  std::vector<std::shared_ptr<Block>> take(Condition condition) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    std::vector<std::shared_ptr<Block>> taken;
    for (auto i = all_.begin(); i != all_.end();) {
      if (condition(*i->second)) taken.push_back(i->second), i = all_.erase(i);
      else ++i;
    }
    return taken;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Block>> all_;
};

constexpr uint64_t kGranule = 2 << 20;   // of device memory, bytes
constexpr uint64_t kPage = 64 << 10;     // the importers' page, before an allocation's data: arm64's largest
inline uint64_t granules(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

// Maps a memfd's data somewhere at random, aligned to a granule. 0: it cannot.
uint64_t map_at_random(int fd, uint64_t bytes);
// Unmaps and closes; ends the process when others still have the block open.
void dispose(Block& block);
// IPC's bookkeeping, driver_ipc.cc.
void make_importers(Block& block);
void leave_importers(Block& block);
void require_no_importers(const Block& block);

// Stream is a queue with a thread, started by the first use. Work is numbered from 1.
class Stream {
 public:
  struct Point {  // a moment: this work of this stream is done
    std::shared_ptr<Stream> stream;
    uint64_t number = 0;
    bool reached() const { return !stream || stream->done(number); }
    void wait() const {
      if (stream) stream->wait(number);
    }
  };
  Stream(Context* context, unsigned flags, int priority);
  uint64_t push(std::vector<Point> after, std::function<void()> work);
  uint64_t last();
  bool done(uint64_t number);
  void wait(uint64_t number);
  void close();  // does what is queued and ends the thread

  Context* const context;
  const unsigned flags;
  const int priority;

 private:
  struct Work {
    std::vector<Point> after;
    std::function<void()> run;
  };
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  uint64_t queued_ = 0, done_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

// Called wherever the program waits for a GPU: it lasts as HOGWILD_FAKE_SLOW_WAITS says.
void wait_longer();

// Context is what the program holds of a device.
class Context : public fake::Memory {
 public:
  Context(int device, unsigned flags);
  // The block that a kernel of this context may touch.
  Range find(uint64_t address) const override;
  // Puts work into a stream, in the order that the legacy default stream demands.
  Stream::Point enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work,
                        std::vector<Stream::Point> after = {});
  void add_stream(std::shared_ptr<Stream> stream);
  void remove_stream(const Stream* stream);
  void synchronise();
  // Sticks: from now on every call of this process that needs a context returns the code.
  void raise(const Fault& fault, const std::string& during);
  void clear();  // frees all that it owns

  const int device;
  unsigned flags;
  std::atomic<bool> alive{false};
  std::atomic<uint64_t> peers{0};  // devices whose memory it may touch, a bit each
  std::shared_ptr<Stream> legacy;  // the default stream
  size_t limits[3] = {1024, 1 << 20, 8 << 20};

 private:
  std::mutex order_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

struct Event {
  struct Mark {
    Stream::Point point;
    double milliseconds = 0;  // valid once the point is reached
  };
  Context* context;
  unsigned flags;
  std::mutex mutex;
  std::shared_ptr<Mark> mark;  // of the last record; null: none
};

struct LoadedModule {
  Context* context;
  std::unique_ptr<fake::Module> module;  // null: machine code
};

struct Function {
  std::shared_ptr<LoadedModule> module;
  const Kernel* kernel;
  size_t max_dynamic_shared;
  int carveout = -1;
};

// Has the launch take this process's turns on the device, and returns its fault.
Fault run_in_turns(int device, fake::Launch& launch);

struct Device {
  std::shared_ptr<Context> primary;
  int retained = 0;
  std::atomic<uint64_t> used{0};  // bytes
  int contexts = 0;               // alive
  int lock = -1;                  // exclusive mode: the socket that says so
};

struct State {
  State();
  std::mutex mutex;  // of the devices' counts and of imports
  std::vector<Device> devices;
  Table<Context> contexts;
  Table<Stream> streams;
  Table<Event> events;
  Table<LoadedModule> modules;
  Table<Function> functions;
  Blocks blocks;
  std::atomic<uint64_t> launches{0};
  std::atomic<bool> initialised{false};
  // What a kernel of the process did wrong. All its contexts are lost with it, and neither
  // a reset nor a new one helps: CUDA asks for another process.
  std::atomic<int> fault{0};
};

State& state();
void refuse_fault();  // what a kernel did earlier
// The thread's context; refusals 201 (none), 709 (destroyed) and the process's fault.
Context& current();
std::shared_ptr<Stream> stream_of(CUstream handle);  // 0: the current context's default stream
// Which process this is: its pid (22 bits) and its start in clock ticks; 0 when it is
// dead. A pid is used again, this is not.
uint64_t identity(int pid);
uint64_t random64();
inline uint64_t host(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace driver
