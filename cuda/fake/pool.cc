// pool.cc spreads the CTAs of a grid over the host's cores.
//
// Each thread has several CTAs in flight and gives them turns at random, two in all for each of an H200's
// multiprocessors, which is as many as most kernels have room for: so steps overlap as they do there, whatever the
// number of cores. The pool's threads stay for the next launch, and are not ended when
// the process is: another thread may still be in here then.
#include <condition_variable>
#include <functional>
#include <list>
#include <thread>

#include "profile.h"
#include "warp.h"

namespace fake {

namespace {

constexpr uint32_t kInFlight = 264;

class Pool {
 public:
  Pool() : size_(std::max(1u, std::thread::hardware_concurrency())) {}
  uint32_t size() const { return size_; }

  // run calls work(0) here and work(1), ... on threads that are free before it has
  // ended, and waits for all that it has called.
  void run(uint32_t threads, const std::function<void(uint32_t)>& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    uint32_t running = 0;
    for (uint32_t i = 1; i < threads; i++) jobs_.push_back({&work, i, &running});
    while (started_ < size_ - 1 && idle_ < jobs_.size()) {
      started_++, idle_++;
      std::thread([this] { serve(); }).detach();
    }
    wake_.notify_all();
    lock.unlock();
    work(0);
    lock.lock();
    jobs_.remove_if([&work](const Job& job) { return job.work == &work; });
    done_.wait(lock, [&] { return running == 0; });
  }

 private:
  struct Job {
    const std::function<void(uint32_t)>* work;
    uint32_t number;
    uint32_t* running;
  };

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      Job job = jobs_.front();
      jobs_.pop_front();
      idle_--;
      ++*job.running;
      lock.unlock();
      (*job.work)(job.number);
      lock.lock();
      idle_++;
      if (--*job.running == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::list<Job> jobs_;
  uint32_t size_, started_ = 0, idle_ = 0;
};

Pool& pool() {
  static Pool* one = new Pool;
  return *one;
}

void keep_first(Grid& grid, const Fault& fault) {
  std::lock_guard<std::mutex> guard(grid.mutex);
  if (grid.fault.code == 0) grid.fault = fault;
  grid.stop = true;
}

// Inside is a thread's stay within a launch's gate, where it has one.
struct Inside {
  explicit Inside(Gate* gate) : gate(gate) {
    if (gate) gate->enter();
  }
  ~Inside() {
    if (gate) gate->leave();
  }
  Gate* const gate;
};

// work runs CTAs on one thread until there are no more.
void work(Grid& grid, uint32_t number) {
  Inside inside(grid.launch->gate);
  Counting counting(*grid.program);
  Core core;
  core.grid = &grid;
  core.number = number;
  core.ranges.resize(grid.program->ops.size());
  core.random = (uint64_t(grid.launch->seed) << 32 | (number + 1)) * 0x9e3779b97f4a7c15ull | 1;
  const uint32_t most = (std::min(kInFlight, grid.total) + grid.cores - 1) / grid.cores;
  std::vector<std::unique_ptr<Cta>> live, spare;
  while (!grid.stop) {
    while (live.size() < most) {
      uint32_t next = grid.next++;
      if (next >= grid.total) break;
      if (spare.empty()) spare.push_back(std::make_unique<Cta>());
      live.push_back(std::move(spare.back()));
      spare.pop_back();
      start(*live.back(), core, next);
    }
    if (live.empty()) return;
    size_t chosen = core.draw(static_cast<uint32_t>(live.size()));
    if (!turn(*live[chosen])) {
      spare.push_back(std::move(live[chosen]));
      live[chosen] = std::move(live.back());
      live.pop_back();
    }
    if (grid.launch->cancel && grid.launch->cancel->load(std::memory_order_relaxed)) {
      throw Refusal{{kTimeout, "kernel " + grid.program->name + " was stopped: it ran for too long"}};
    }
    if (inside.gate) inside.gate->poll();
  }
}

}  // namespace

Fault run(const Launch& launch) {
  Grid grid;
  grid.launch = &launch;
  grid.program = static_cast<const Program*>(launch.kernel);
  grid.total = launch.grid[0] * launch.grid[1] * launch.grid[2];
  grid.threads = launch.block[0] * launch.block[1] * launch.block[2];
  grid.warps = (grid.threads + kLanes - 1) / kLanes;
  if (grid.total == 0 || grid.threads == 0 || grid.threads > 1024 ||
      launch.params.size() < grid.program->parameter_bytes) {
    return {1, "kernel " + grid.program->name + ": a grid without threads, too many of them, or too few parameters"};
  }
  grid.cores = std::min(pool().size(), grid.total);
  pool().run(grid.cores, [&grid](uint32_t number) {
    try {
      work(grid, number);
    } catch (const Refusal& refusal) {
      keep_first(grid, refusal.fault);
    }
  });
  write_profile(*grid.program, grid.total);
  return grid.fault;
}

}  // namespace fake
