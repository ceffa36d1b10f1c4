// driver_settings.cc reads the switches HOGWILD_FAKE_*. A name or a value that it
// does not know makes cuInit fail: a test that misspells a switch must not pass.
#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "driver.h"

extern char** environ;

namespace driver {
namespace {

constexpr char kPrefix[] = "HOGWILD_FAKE_";

// A whole number from low to high.
bool number(const std::string& text, uint64_t low, uint64_t high, uint64_t* value) {
  if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != text.npos) return false;
  *value = strtoull(text.c_str(), nullptr, 10);
  return *value >= low && *value <= high;
}

bool integer(const std::string& text, int low, int high, int* value) {
  uint64_t wide;
  if (!number(text, low, high, &wide)) return false;
  *value = static_cast<int>(wide);
  return true;
}

bool flag(const std::string& text, bool* value) {
  *value = text == "1";
  return text == "0" || text == "1";
}

// Bytes: "512MiB", "80GB", "4096".
bool bytes(const std::string& text, uint64_t* value) {
  static const struct { const char* name; uint64_t factor; } units[] = {
      {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
      {"K", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {"T", 1ull << 40},
      {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}};
  size_t end = text.find_first_not_of("0123456789");
  std::string unit = end == text.npos ? "" : text.substr(end);
  for (const auto& u : units) {
    if (unit == u.name) {
      if (!number(text.substr(0, end), 1, (64ull << 40) / u.factor, value)) return false;
      *value *= u.factor;
      return true;
    }
  }
  return false;
}

// A compute capability, "8.6", times 10.
bool capability(const std::string& text, int* value) {
  size_t dot = text.find('.');
  int major, minor;
  if (dot == text.npos || !integer(text.substr(0, dot), 3, 12, &major) || !integer(text.substr(dot + 1), 0, 9, &minor)) return false;
  *value = 10 * major + minor;
  return true;
}

template <class T>
bool choice(const std::string& text, const std::initializer_list<std::pair<const char*, T>>& choices, T* value) {
  for (const auto& c : choices) {
    if (text == c.first) {
      *value = c.second;
      return true;
    }
  }
  return false;
}

// Reads one switch; the answer is what would have been right, null when it was.
const char* read(const std::string& name, const std::string& text, Settings* s) {
  if (name == "DEVICES") return integer(text, 1, 16, &s->devices) ? nullptr : "1 to 16";
  if (name == "SMS") return integer(text, 1, 132, &s->sms) ? nullptr : "1 to 132";
  if (name == "DRIVER") return integer(text, 1000, 99999, &s->driver) ? nullptr : "a version such as 12060";
  if (name == "CAPABILITY") return capability(text, &s->capability) ? nullptr : "3.0 to 12.9, as 8.6";
  if (name == "P2P")
    return choice(text, {{"on", P2P::kOn}, {"off", P2P::kOff}, {"no-atomics", P2P::kNoAtomics}}, &s->p2p)
               ? nullptr : "on, off or no-atomics";
  if (name == "CHECKS")
    return choice(text, {{"all", Checks::kAll}, {"default", Checks::kDefault}, {"none", Checks::kNone}}, &s->checks)
               ? nullptr : "all, default or none";
  if (name == "MEMORY") return bytes(text, &s->memory) ? nullptr : "bytes, such as 80GiB, up to 64TiB";
  if (name == "FREE") return bytes(text, &s->free) ? nullptr : "bytes, such as 512MiB, up to 64TiB";
  if (name == "PINNED") return bytes(text, &s->pinned) ? nullptr : "bytes, such as 1MiB, up to 64TiB";
  if (name == "CONTEXT") return bytes(text, &s->context) ? nullptr : "bytes, such as 400MiB, up to 64TiB";
  if (name == "LATE_COPIES") return number(text, 1, 3600000, &s->late_copies_ms) ? nullptr : "milliseconds, from 1";
  if (name == "MAX_THREADS") return integer(text, 1, 1024, &s->max_threads) ? nullptr : "1 to 1024";
  if (name == "FRESH")
    return choice(text, {{"ones", false}, {"zero", true}}, &s->fresh_zero) ? nullptr : "ones or zero";
  if (name == "LAUNCH_FAIL")
    return number(text, 1, UINT64_MAX, &s->launch_fail) ? nullptr : "which launch fails, from 1";
  if (name == "LAUNCH_HANG")
    return number(text, 1, UINT64_MAX, &s->launch_hang) ? nullptr : "which launch hangs, from 1";
  if (name == "SLOW_WAITS") return number(text, 1, 3600000, &s->slow_waits_ms) ? nullptr : "milliseconds, from 1";
  if (name == "WATCHDOG") return number(text, 1, 3600000, &s->watchdog_ms) ? nullptr : "milliseconds, from 1";
  if (name == "OOM") return flag(text, &s->out_of_memory) ? nullptr : "0 or 1";
  if (name == "INIT_HANG") {
    s->context_hang = text == "context";
    return s->context_hang || flag(text, &s->init_hang) ? nullptr : "0, 1 or context";
  }
  if (name == "NO_DEVICE") return flag(text, &s->no_device) ? nullptr : "0 or 1";
  if (name == "CUBINS") return flag(text, &s->cubins) ? nullptr : "0 or 1";
  if (name == "NO_IPC")
    return choice(text, {{"0", IPC::kOn}, {"1", IPC::kOff}, {"open", IPC::kClosed}}, &s->ipc) ? nullptr : "0, 1 or open";
  if (name == "NO_JIT") {
    bool off = false;
    bool right = flag(text, &off);
    s->jit = !off;
    return right ? nullptr : "0 or 1";
  }
  if (name == "EXCLUSIVE") {
    s->exclusive = text == "0" ? "" : text;
    return !text.empty() && text.size() <= 40 ? nullptr : "1, or a name for the machine that is played, up to 40 letters";
  }
  if (name == "TRACE") {
    s->trace = text;
    return text.empty() ? "a file" : nullptr;
  }
  if (name == "TURNS") {
    s->turns = open(text.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return s->turns >= 0 ? nullptr : "a file that can be written";
  }
  if (name == "PROFILE") return text.empty() ? "a file" : nullptr;  // profile.cc reads it
  return "DEVICES, SMS, DRIVER, CAPABILITY, P2P, CHECKS, MEMORY, FREE, CONTEXT, PINNED, FRESH, LATE_COPIES, MAX_THREADS, LAUNCH_FAIL, "
         "LAUNCH_HANG, SLOW_WAITS, WATCHDOG, OOM, INIT_HANG, NO_DEVICE, NO_IPC, NO_JIT, CUBINS, EXCLUSIVE, TURNS, PROFILE or TRACE after "
         "HOGWILD_FAKE_";
}

Settings* read_all() {
  auto* s = new Settings;
  for (char** entry = environ; *entry; ++entry) {
    const char* equals = strchr(*entry, '=');
    if (strncmp(*entry, kPrefix, strlen(kPrefix)) != 0 || !equals) continue;
    const char* start = *entry + strlen(kPrefix);
    std::string name(start, equals), value(equals + 1);
    if (const char* right = read(name, value, s)) {
      s->wrong += std::string("libcuda stand-in: ") + *entry + " is not understood: use " + right + "\n";
    }
  }
  s->visible = visible_devices(s->devices);
  s->devices = static_cast<int>(s->visible.size());
  if (s->free == 0) s->free = s->memory;
  if (s->free > s->memory) s->wrong += "libcuda stand-in: HOGWILD_FAKE_FREE is more than HOGWILD_FAKE_MEMORY\n";
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings* const all = read_all();
  return *all;
}

}  // namespace driver
