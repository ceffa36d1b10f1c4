// profile.cc is HOGWILD_FAKE_PROFILE.
#include "profile.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "warp.h"

namespace fake {

thread_local Counts* counting = nullptr;

namespace {

constexpr size_t kFullest = 64;  // lines of memory that are written of each launch

std::mutex mutex;
std::map<const Program*, Counts>& all() {
  static auto* const counts = new std::map<const Program*, Counts>;
  return *counts;
}

// The profile's file; -1: none.
int file() {
  static const char* const name = getenv("HOGWILD_FAKE_PROFILE");
  static const int fd = name ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
  return fd;
}

void add(std::vector<uint64_t>& to, const std::vector<uint64_t>& from) {
  to.resize(from.size());
  for (size_t i = 0; i < from.size(); i++) to[i] += from[i];
}

}  // namespace

Counting::Counting(const Program& program) : program_(program) {
  if (file() < 0) return;
  counts_.times.resize(program.ops.size());
  counts_.sectors.resize(program.ops.size());
  counting = &counts_;
}

Counting::~Counting() {
  if (!counting) return;
  counting = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  Counts& sum = all()[&program_];
  add(sum.times, counts_.times);
  add(sum.sectors, counts_.sectors);
  for (const auto& [line, n] : counts_.memory) {
    sum.memory[line].additions += n.additions;
    sum.memory[line].warps += n.warps;
  }
}

void count_sectors(const Warp& w, const Op& op, uint32_t mask, const Where& where) {
  if (op.space != Space::kGlobal) return;
  uint64_t seen[kLanes];
  int n = 0;
  each(mask, [&](int i) {
    uint64_t sector = reinterpret_cast<uint64_t>(where.p[i]) / 32;
    int k = 0;
    while (k < n && seen[k] != sector) k++;
    if (k == n) seen[n++] = sector;
  });
  counting->sectors[index_of(program_of(w), op)] += static_cast<uint64_t>(n);
}

void count_additions(const Op& op, uint32_t mask, uint64_t n, const Where& where) {
  if (op.space != Space::kGlobal) return;
  std::map<uint64_t, uint64_t> lines;
  each(mask, [&](int i) { lines[reinterpret_cast<uint64_t>(where.p[i]) / 128] += n; });
  for (const auto& [line, additions] : lines) {
    counting->memory[line].additions += additions;
    counting->memory[line].warps++;
  }
}

void write_profile(const Program& program, uint32_t ctas) {
  if (file() < 0) return;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = all().find(&program);
  if (found == all().end()) return;
  std::map<int, std::pair<uint64_t, uint64_t>> lines;
  for (size_t i = 0; i < program.ops.size(); i++) {
    auto& line = lines[program.origins[i].line];
    line.first = std::max(line.first, found->second.times[i]);
    line.second += found->second.sectors[i];
  }
  std::vector<std::pair<uint64_t, Counts::Line>> fullest(found->second.memory.begin(), found->second.memory.end());
  auto most = fullest.begin() + std::min<size_t>(kFullest, fullest.size());
  std::partial_sort(fullest.begin(), most, fullest.end(), [](const auto& a, const auto& b) { return a.second.additions > b.second.additions; });
  std::string text = "{\"kernel\":\"" + program.name + "\",\"ctas\":" + std::to_string(ctas) + ",\"memory\":[";
  const char* comma = "";
  for (auto at = fullest.begin(); at != most; at++) {
    text += std::string(comma) + "[" + std::to_string(at->first) + "," + std::to_string(at->second.additions) + "," + std::to_string(at->second.warps) + "]";
    comma = ",";
  }
  text += "],\"lines\":[";
  comma = "";
  for (const auto& [line, n] : lines) {
    if (n.first == 0) continue;
    text += std::string(comma) + "[" + std::to_string(line) + "," + std::to_string(n.first) + "," + std::to_string(n.second) + "]";
    comma = ",";
  }
  text += "]}\n";
  all().erase(found);
  ssize_t written = write(file(), text.data(), text.size());
  (void)written;  // a profile that is cut short does not parse
}

}  // namespace fake
