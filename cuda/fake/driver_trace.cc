// driver_trace.cc is what the stand-in says: the trace, a JSON line a call; the names
// of errors; and reports on stderr.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>

#include "driver.h"

// Made by stubs.py from cuda.h, in ascending order of code.
extern "C" {
struct FakeError {
  int code;
  const char *name, *text;
};
extern const FakeError fake_errors[];
extern const int fake_error_count;
CUresult fake_stub(const char* symbol);
}

namespace driver {
namespace {

// The trace's file; -1: none.
int trace_file() {
  static const int fd = settings().trace.empty()
      ? -1 : open(settings().trace.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  return fd;
}

// "cuMemAlloc_v2" is "cuMemAlloc" to the program.
std::string unversioned(std::string name) {
  for (const char* suffix : {"_ptsz", "_ptds", "_v2", "_v3"}) {
    size_t n = strlen(suffix);
    if (name.size() > n && name.compare(name.size() - n, n, suffix) == 0) name.resize(name.size() - n);
  }
  return name;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    char escape[8];
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c < 0x20) snprintf(escape, sizeof escape, "\\u%04x", c), out += escape;
    else out += c;
  }
  return out + '"';
}

const FakeError* error(int code) {
  for (int i = 0; i < fake_error_count; ++i) {
    if (fake_errors[i].code == code) return &fake_errors[i];
  }
  return nullptr;
}

void write_all(int fd, const std::string& text) {
  ssize_t written = write(fd, text.data(), text.size());
  (void)written;  // nowhere is left to say that it failed
}

}  // namespace

thread_local bool in_callback = false;

const char* error_name(int code) { return error(code) ? error(code)->name : nullptr; }
const char* error_text(int code) { return error(code) ? error(code)->text : nullptr; }

bool trace_works() { return settings().trace.empty() || trace_file() >= 0; }

void report(const std::string& text) { write_all(STDERR_FILENO, text); }

Call::Call(const char* symbol) {
  if (trace_file() >= 0) {
    line_ = "{\"pid\":" + std::to_string(getpid()) + ",\"call\":" + quoted(unversioned(symbol));
  }
}

void Call::number(const char* key, uint64_t value) {
  if (!line_.empty()) line_ += ",\"" + std::string(key) + "\":" + std::to_string(value);
}

void Call::address(const char* key, uint64_t value) {
  if (line_.empty()) return;
  char hex[32];
  snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(value));
  text(key, hex);
}

void Call::text(const char* key, const std::string& value) {
  if (!line_.empty()) line_ += ",\"" + std::string(key) + "\":" + quoted(value);
}

CUresult Call::end(int code, const std::string& why) {
  if (!line_.empty()) {
    number("result", code);
    if (!why.empty()) text("why", why);
    write_all(trace_file(), line_ + "}\n");
  }
  return static_cast<CUresult>(code);
}

}  // namespace driver

// What every symbol of cuda.h does that the stand-in does not play.
CUresult fake_stub(const char* symbol) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string>;
  {
    std::lock_guard<std::mutex> lock(*mutex);
    if (said->insert(symbol).second) {
      driver::report(std::string("libcuda stand-in: ") + symbol + " is not played: it returns 801\n");
    }
  }
  return driver::Call(symbol).end(CUDA_ERROR_NOT_SUPPORTED, "not played");
}

CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = driver::error_name(code);
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char** text) {
  *text = driver::error_text(code);
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
