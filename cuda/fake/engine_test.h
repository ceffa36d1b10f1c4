// engine_test.h is what the tests of the interpreter share: device memory, launches,
// and a count of what failed.
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine.h"

namespace fake_test {

// Device is memory in which allocations are ranges; their contents lie in it.
class Device : public fake::Memory {
 public:
  fake::Range find(uint64_t address) const override {
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return {};
    fake::Range range = std::prev(after)->second;
    return address - range.base < range.size ? range : fake::Range{};
  }
  template <class T>
  uint64_t add(const std::vector<T>& values) {
    kept_.emplace_back(values.size() * sizeof(T) + 1024);
    uint64_t base = (reinterpret_cast<uint64_t>(kept_.back().data()) + 511) & ~255ull;
    std::memcpy(reinterpret_cast<void*>(base), values.data(), values.size() * sizeof(T));
    ranges_[base] = {base, values.size() * sizeof(T)};
    return base;
  }
  template <class T>
  static T* at(uint64_t address) { return reinterpret_cast<T*>(address); }

 private:
  std::map<uint64_t, fake::Range> ranges_;
  std::vector<std::vector<uint8_t>> kept_;
};

// Shape is how a kernel is launched.
struct Shape {
  uint32_t grid = 1, block = 32;
  size_t shared = 0;
  bool races = false, uninitialised = false;
  uint32_t seed = 1;
  const std::atomic<bool>* cancel = nullptr;
};

// launch loads PTX and runs its kernel k with 8-byte parameters.
fake::Fault launch(const std::string& ptx, const Device& device, const std::vector<uint64_t>& parameters,
                   Shape shape = {});

fake::Fault start(const fake::Kernel& kernel, const Device& device, const std::vector<uint64_t>& parameters,
                  Shape shape);

// module_of is a whole module around the body of a kernel k(p0, p1, p2, p3), all .u64,
// in which %p0.. %p3 hold them, %t is the thread's number in the grid (%i in 64 bits),
// and there are registers %b<9> .pred, %h<9> .b16, %r<32>, %f<32>, %d<32> .b64, %g<9> .f64.
std::string module_of(const std::string& body, const std::string& variables = "");

void check(bool good, const std::string& what);
// check_fault wants a code and words of the text.
void check_fault(const fake::Fault& fault, int code, std::vector<std::string> words, const std::string& what);
int failures();

// Random numbers, the same in every run.
uint64_t draw();

void test_arithmetic();   // engine_arithmetic_test.cc
void test_conversions();  // engine_convert_test.cc
void test_lanes();        // engine_lanes_test.cc
void test_memory();       // engine_memory_test.cc
void test_checks();       // engine_checks_test.cc
void test_compiled(const std::string& file);  // engine_compiled_test.cc
void test_loads(const std::string& file);     // that all in a file is known

}  // namespace fake_test
