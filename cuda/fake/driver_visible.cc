// driver_visible.cc reads CUDA_VISIBLE_DEVICES, as the CUDA programming guide has it: a
// list of indices or of the beginnings of UUIDs ("GPU-686f6777"), in the order in which
// the process shall see the devices. The first that names none, or more than one, ends
// it. What is named twice makes all invisible.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <algorithm>

#include "driver.h"

namespace driver {
namespace {

// "GPU-686f6777-696c-6400-..."
std::string text_of(const CUuuid& id) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(id.bytes[i]));
    text += hex;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

// The one device of n that an entry names, or -1.
int named(const std::string& entry, int n) {
  if (entry.rfind("GPU-", 0) != 0) {
    char* end;
    long index = strtol(entry.c_str(), &end, 10);
    return !entry.empty() && *end == '\0' && index >= 0 && index < n ? static_cast<int>(index) : -1;
  }
  int found = -1;
  for (int i = 0; i < n; ++i) {
    if (text_of(uuid_of(i)).compare(0, entry.size(), entry) != 0) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

}  // namespace

CUuuid uuid_of(int machine) {
  CUuuid id;
  memcpy(id.bytes, "hogwild stand-in", sizeof id.bytes);
  id.bytes[7] = static_cast<char>(machine);
  return id;
}

std::vector<int> visible_devices(int n) {
  std::vector<int> visible;
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  for (int i = 0; !list && i < n; ++i) visible.push_back(i);
  for (std::string rest = list ? list : ""; !rest.empty();) {
    size_t comma = std::min(rest.find(','), rest.size());
    int device = named(rest.substr(0, comma), n);
    rest.erase(0, comma + 1);
    if (device < 0) break;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) return {};
    visible.push_back(device);
  }
  return visible;
}

}  // namespace driver
