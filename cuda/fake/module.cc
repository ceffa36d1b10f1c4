// module.cc loads PTX: checks its version and target, places its variables, decodes its
// kernels.
#include <cstring>
#include <map>

#include "code.h"

namespace fake {

namespace {

constexpr int kTooNew = 222, kNoBinary = 209;
constexpr size_t kGap = 256;  // between variables, so that a step too far is seen

// The newest PTX that a driver takes. Drivers are numbered 12060 for 12.6.
int newest_ptx(int driver) {
  static const int of_12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
  const int major = driver / 1000, minor = driver % 1000 / 10;
  if (major >= 13) return 90 + minor;
  if (major == 12) return of_12[std::min(minor, 9)];
  return major == 11 ? 70 + minor : 63 + minor;
}

class Loaded : public Module {
 public:
  void load(const std::string& ptx, int driver, int sm) {
    text_ = parse(ptx);
    check(driver, sm);
    place();
    initialise();
    for (const Function& function : text_.functions) {
      auto program = std::make_unique<Program>();
      program->name = function.name;
      program->variables = &ranges_;
      program->files = &text_.files;
      if (function.max_threads) program->max_threads = function.max_threads;
      decode(function, symbols_, program.get());
      kernels_[function.name] = std::move(program);
    }
  }

  const Kernel* find(const std::string& name) const override {
    auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : found->second.get();
  }

  Range variable(const std::string& name) const override {
    auto found = variables_.find(name);
    return found == variables_.end() ? Range{} : found->second;
  }

 private:
  void check(int driver, int sm) const {
    auto dotted = [](int n) { return std::to_string(n / 10) + "." + std::to_string(n % 10); };
    if (text_.version > newest_ptx(driver)) {
      throw Refusal{{kTooNew, "PTX version " + dotted(text_.version) + " is newer than the " +
                                  dotted(newest_ptx(driver)) + " that a driver of CUDA " +
                                  std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
                                  " takes"}};
    }
    if (text_.target > sm) {
      throw Refusal{
          {kNoBinary, "PTX for sm_" + std::to_string(text_.target) + ", and the device is sm_" + std::to_string(sm)}};
    }
  }

  void place() {
    size_t bytes = 0;
    std::vector<size_t> offsets;
    for (const Variable& v : text_.variables) {
      if (v.space == "shared") {
        symbols_.shared.push_back(&v);
        offsets.push_back(0);
        continue;
      }
      if (v.is_extern) refuse_text(v.line, "extern variable " + v.name + ": modules are not linked");
      size_t align = std::max<size_t>(v.align, 16);
      bytes = (bytes + align - 1) / align * align;
      offsets.push_back(bytes);
      bytes += v.bytes + kGap;
    }
    memory_.resize(bytes / 8 + 34);
    uint64_t base = (reinterpret_cast<uint64_t>(memory_.data()) + 255) & ~255ull;
    for (size_t i = 0; i < text_.variables.size(); i++) {
      const Variable& v = text_.variables[i];
      if (v.space == "shared") continue;
      symbols_.addresses[v.name] = base + offsets[i];
      variables_[v.name] = {base + offsets[i], v.bytes};
      if (v.bytes) ranges_.push_back(variables_[v.name]);
    }
  }

  void initialise() {
    for (const Variable& v : text_.variables) {
      if (v.space == "shared") continue;
      uint8_t* at = reinterpret_cast<uint8_t*>(symbols_.addresses[v.name]);
      if (!v.initial.empty()) std::memcpy(at, v.initial.data(), v.initial.size());
      for (const Variable::Pointer& p : v.pointers) {
        auto found = symbols_.addresses.find(p.name);
        if (found == symbols_.addresses.end()) refuse_text(v.line, "unknown name " + p.name + " in an initialiser");
        uint64_t address = found->second + static_cast<uint64_t>(p.offset);
        std::memcpy(at + p.at, &address, 8);
      }
    }
  }

  Text text_;
  Symbols symbols_;
  std::vector<uint64_t> memory_;
  std::vector<Range> ranges_;
  std::map<std::string, Range> variables_;
  std::map<std::string, std::unique_ptr<Program>> kernels_;
};

}  // namespace

std::unique_ptr<Module> Module::load(const std::string& ptx, int driver, int sm, Fault* fault) {
  try {
    auto module = std::make_unique<Loaded>();
    module->load(ptx, driver, sm);
    return module;
  } catch (const Refusal& refusal) {
    *fault = refusal.fault;
    return nullptr;
  }
}

}  // namespace fake
