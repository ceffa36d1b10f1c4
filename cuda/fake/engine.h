// engine.h is what the driver half of the stand-in (driver*.cc) needs of the half
// that interprets PTX (parse, decode, execute): modules, kernels, launches, faults.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fake {

// Fault is why something was refused or a kernel stopped. Code is the CUresult that
// the driver returns (0: none); text says kernel, PTX line, CTA, thread and address.
struct Fault {
  int code = 0;
  std::string text;
};

// Range is a live allocation, or {0, 0}.
struct Range {
  uint64_t base = 0, size = 0;
  bool atomics = true;  // work there: not on a peer whose link has none, nor in host memory
};

// Memory tells which addresses of this process are device memory.
class Memory {
 public:
  virtual ~Memory() = default;
  // The allocation that contains the address. Called often, from several threads;
  // while a launch runs, what it has found may be remembered.
  virtual Range find(uint64_t address) const = 0;
};

// Gate is what a thread that runs CTAs is inside of while it does, and where it is held up when others are to run.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual void poll() = 0;  // called inside and often: leaves and enters when it must
};

struct Parameter {
  size_t offset, size;  // bytes, in the block of all parameters
};

// Kernel is an entry function of a module. Constant once loaded.
class Kernel {
 public:
  virtual ~Kernel() = default;
  std::string name;
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
  size_t static_shared = 0;  // bytes
  size_t local_bytes = 0;    // a thread
  int registers = 0;         // a thread, estimated, 16 to 255
  int max_threads = 1024;    // a block: .maxntid or .reqntid, else the device's limit
};

// Module is parsed PTX.
class Module {
 public:
  virtual ~Module() = default;
  // Parses and checks PTX text. driver is the driver's version (12060), which bounds
  // the .version that it takes; sm is the device's architecture (90). Faults: 218 with
  // the line (an unknown opcode is named), 222 for PTX newer than the driver, 209 for
  // a target above the device.
  static std::unique_ptr<Module> load(const std::string& ptx, int driver, int sm, Fault* fault);
  virtual const Kernel* find(const std::string& name) const = 0;
  // A .global or .const variable: its address and size, or {0, 0}.
  virtual Range variable(const std::string& name) const = 0;
};

// Launch is one grid.
struct Launch {
  const Kernel* kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  size_t shared_bytes = 0;       // dynamic
  std::vector<uint8_t> params;   // parameter_bytes of them
  const Memory* memory = nullptr;
  uint32_t seed = 1;             // of the interleaving of warps
  bool check_shared_races = false;
  bool check_shared_uninitialised = false;
  const std::atomic<bool>* cancel = nullptr;  // set: stop soon with fault 702 (the watchdog)
  Gate* gate = nullptr;          // null: it is always open
};

// Runs a grid to its end, on the pool's threads, and returns what went wrong.
Fault run(const Launch& launch);

}  // namespace fake
