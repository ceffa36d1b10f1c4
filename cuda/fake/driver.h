// driver.h is what every call of the stand-in driver is made of: its switches, a
// refusal (the CUresult and why), and the frame that turns refusals into results and
// writes the trace. It knows nothing of contexts or memory: see driver_state.h.
#pragma once

#define __CUDA_API_PUSH_VISIBILITY_DEFAULT  // cuda.h: export its functions, whatever the compiler's flags
#include <cuda.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace driver {

enum class P2P { kOn, kOff, kNoAtomics };
enum class IPC { kOn, kClosed, kOff };  // kClosed: memory is exported and cannot be opened
enum class Checks { kAll, kDefault, kNone };

// Settings are the switches HOGWILD_FAKE_*, read once.
struct Settings {
  int devices = 1;           // that this process sees
  std::vector<int> visible;  // which of the machine's each of them is
  int sms = 132;
  int driver = 12060;
  int capability = 90;  // compute capability, times 10
  P2P p2p = P2P::kOn;
  Checks checks = Checks::kDefault;
  uint64_t memory = 143771ull << 20;  // bytes a device
  uint64_t free = 0;                  // of them free at the start; 0: all
  uint64_t pinned = 0;                // host memory that one call can pin; 0: any
  uint64_t context = 0;               // of a device's memory, what a process's first context takes
  uint64_t late_copies_ms = 0;        // how long after its copy of ordinary memory returned it arrives
  int max_threads = 0;                // that any kernel's block may have; 0: as it was compiled
  bool fresh_zero = false;            // new memory is zero; else all its bits are 1
  uint64_t launch_fail = 0;           // this launch of the process fails, from 1; 0: none
  uint64_t launch_hang = 0;           // this one never ends; 0: none
  uint64_t watchdog_ms = 0;           // a kernel that runs longer is stopped; 0: never
  uint64_t slow_waits_ms = 0;         // what every wait for a GPU takes beyond the work
  std::string exclusive;              // the machine's name in exclusive mode; "": shared
  std::string trace;                  // the file
  int turns = -1;                     // the file whose locks are turns on the GPUs; -1: processes take none
  IPC ipc = IPC::kOn;
  bool jit = true, cubins = false;    // what is taken: PTX, machine code
  bool no_device = false, init_hang = false, context_hang = false, out_of_memory = false;
  std::string wrong;  // what could not be understood; then cuInit fails
};

const Settings& settings();

// Refusal ends a call with a result that is not CUDA_SUCCESS.
struct Refusal {
  int code;
  std::string why;  // for the trace
};

[[noreturn]] inline void refuse(int code, std::string why) { throw Refusal{code, std::move(why)}; }
inline void require(bool holds, int code, const char* why) {
  if (!holds) refuse(code, why);
}

// Which of n devices CUDA_VISIBLE_DEVICES lets the process see, in its order; and the
// name of one of the machine's.
std::vector<int> visible_devices(int n);
CUuuid uuid_of(int machine);

// The device of this ordinal or refusal 101; and the same for its attributes.
void require_device(CUdevice device);
int attribute(CUdevice_attribute which, CUdevice device);  // -1: unknown
bool under_mps();  // whether a Multi-Process Service listens where the environment says

// "CUDA_ERROR_OUT_OF_MEMORY" and "out of memory"; null for an unknown code.
const char* error_name(int code);
const char* error_text(int code);

// Writes the block of lines to stderr in one piece.
void report(const std::string& text);
bool trace_works();  // there is none, or its file could be opened

bool initialised();

// Call is one call by the program: a line of the trace in the making.
class Call {
 public:
  explicit Call(const char* symbol);
  void number(const char* key, uint64_t value);
  void address(const char* key, uint64_t value);  // as "0x..."
  void text(const char* key, const std::string& value);
  CUresult end(int code, const std::string& why);

 private:
  std::string line_;  // empty: no trace
};

// While a callback of a stream runs, its thread may call nothing of the driver.
extern thread_local bool in_callback;

enum class Needs { kInit, kNothing };

// Runs the body of a call, as "return api(__func__, [&](Call& call) {...});". What the
// body refuses becomes the call's result.
template <class Body>
CUresult api(const char* symbol, Body body, Needs needs = Needs::kInit) {
  Call call(symbol);
  try {
    if (needs == Needs::kInit) {
      require(initialised(), CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called, or failed");
      require(!in_callback, CUDA_ERROR_NOT_PERMITTED, "called from a stream's callback");
    }
    body(call);
  } catch (const Refusal& refusal) {
    return call.end(refusal.code, refusal.why);
  } catch (const std::bad_alloc&) {
    return call.end(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  }
  return call.end(CUDA_SUCCESS, "");
}

}  // namespace driver
