// driver_turns.cc: processes take turns on a GPU, as they do without a Multi-Process Service. While one has its turn
// its kernels run; when its slice is over and another waits, they stop where they are until its next turn.
//
// The turn on a device is a lock on a byte of the file of HOGWILD_FAKE_TURNS, and another byte is the place of the
// process that is next: the host's kernel gives both back, however a process ends.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "driver_state.h"

namespace driver {
namespace {

constexpr int64_t kSlice = 2000;  // microseconds

int64_t now() {  // the same in all processes
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

// Turns are those of this process on a device. All its launches there share them.
class Turns : public fake::Gate {
 public:
  explicit Turns(int device) : device_(device), turn_(2 * settings().visible[device]), next_(turn_ + 1) {}

  Fault run(fake::Launch& launch) {
    uint64_t ctas = 1ull * launch.grid[0] * launch.grid[1] * launch.grid[2], sum = ctas_ += ctas;
    for (uint64_t most = most_; most < sum && !most_.compare_exchange_weak(most, sum);) {
    }
    launch.gate = this;
    Fault fault = fake::run(launch);
    ctas_ -= ctas;
    return fault;
  }

  void enter() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !over_; });
    if (inside_++ > 0) return;
    set(next_, F_WRLCK, F_OFD_SETLKW);
    set(turn_, F_WRLCK, F_OFD_SETLKW);
    set(next_, F_UNLCK, F_OFD_SETLK);
    from_ = now();
    end_ = from_ + kSlice;
    most_ = ctas_.load();
  }

  void leave() override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ > 0) return;
    char line[160];
    int n = snprintf(line, sizeof line, "{\"pid\":%d,\"device\":%d,\"from\":%lld,\"to\":%lld,\"ctas\":%llu,\"sms\":%d}\n",
                     getpid(), device_, static_cast<long long>(from_), static_cast<long long>(now()),
                     static_cast<unsigned long long>(most_.load()), settings().sms);
    ssize_t written = write(settings().turns, line, n);
    (void)written;  // a test that reads it finds that it lacks
    set(turn_, F_UNLCK, F_OFD_SETLK);
    over_ = false;
    changed_.notify_all();
  }

  void poll() override {
    if (now() < end_) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!over_ && now() < end_) return;
      if (!over_ && set(next_, F_WRLCK, F_OFD_SETLK)) {  // nobody waits
        set(next_, F_UNLCK, F_OFD_SETLK);
        end_ = now() + kSlice;
        return;
      }
      over_ = true;
    }
    leave();
    enter();
  }

 private:
  static bool set(int byte, short type, int how) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    int result;
    do result = fcntl(settings().turns, how, &lock);
    while (result != 0 && errno == EINTR);
    return result == 0;
  }

  const int device_, turn_, next_;  // the last two: bytes
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;  // threads; the turn is this process's while there are any
  bool over_ = false;  // the turn is, and none enters before all have left
  int64_t from_ = 0;
  std::atomic<int64_t> end_{0};                // of the slice
  std::atomic<uint64_t> ctas_{0}, most_{0};    // of the launches that have begun: now, at most in this turn
};

}  // namespace

Fault run_in_turns(int device, fake::Launch& launch) {
  static std::vector<std::unique_ptr<Turns>>* const all = [] {
    auto* made = new std::vector<std::unique_ptr<Turns>>;
    for (int i = 0; i < settings().devices && settings().turns >= 0 && !under_mps(); ++i) {
      made->push_back(std::make_unique<Turns>(i));
    }
    return made;
  }();
  return all->empty() ? fake::run(launch) : (*all)[device]->run(launch);
}

}  // namespace driver
