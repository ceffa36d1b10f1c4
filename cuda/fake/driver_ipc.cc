// driver_ipc.cc: one process's allocation in another. The handle tells which file
// descriptor of which process to open under /proc; the first page of the memfd lists
// the processes that have it open, so that freeing it under them can be refused.
//
// Nothing outlives a process but mappings: a pid in the list or in a handle goes with
// the process's start time, and counts only while that very process lives.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "driver_state.h"

namespace driver {

// Importers is the first page of an allocation's memfd.
struct Importers {
  static constexpr int kSlots = 500;
  uint64_t nonce;
  std::atomic<uint64_t> who[kSlots];  // identities; 0: a free slot
};
static_assert(sizeof(Importers) <= kPage, "the list of importers is one page");

uint64_t identity(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == line.npos) return 0;
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string state, field;
  rest >> state;
  if (state == "Z" || state == "X") return 0;  // killed, and not yet waited for
  for (int i = 4; i < 22; ++i) rest >> field;
  uint64_t started = 0;
  rest >> started;
  return started << 22 | static_cast<uint64_t>(pid);
}

namespace {

int pid_of(uint64_t identity) { return static_cast<int>(identity & ((1 << 22) - 1)); }
bool lives(uint64_t who) { return who != 0 && identity(pid_of(who)) == who; }

// Handle is what a CUipcMemHandle's 64 bytes hold.
struct Handle {
  char magic[8];
  uint64_t owner;  // its identity
  uint64_t inode, size, offset, nonce;
  int32_t fd, device;  // of the machine's
  uint64_t check;  // of all before

  uint64_t sum() const {
    uint64_t words[7], sum = 1469598103934665603u;
    memcpy(words, this, sizeof words);
    for (uint64_t word : words) sum = (sum ^ word) * 1099511628211u;
    return sum;
  }
};
static_assert(sizeof(Handle) == sizeof(CUipcMemHandle), "a handle has 64 bytes");
constexpr char kMagic[8] = {'h', 'o', 'g', 'w', 'i', 'p', 'c', '1'};

Importers* map_importers(int fd) {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  require(page != MAP_FAILED, CUDA_ERROR_MAP_FAILED, "the importers' page cannot be mapped");
  return static_cast<Importers*>(page);
}

// Takes a slot that is free or whose process is dead.
bool enter(Importers* importers) {
  uint64_t me = identity(getpid());
  for (auto& slot : importers->who) {
    uint64_t old = slot;
    if ((old == 0 || !lives(old)) && slot.compare_exchange_strong(old, me)) return true;
  }
  return false;
}

struct File {
  int fd;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

// The owner's memfd.
int open_owner(const Handle& handle) {
  constexpr char kGone[] = "the exporting process is dead, or not visible from here";
  require(lives(handle.owner), CUDA_ERROR_INVALID_CONTEXT, kGone);
  std::string path = "/proc/" + std::to_string(pid_of(handle.owner)) + "/fd/" + std::to_string(handle.fd);
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(fd >= 0 || errno == ENOENT, CUDA_ERROR_INVALID_CONTEXT, "the exporter's memory may not be opened");
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) == 0 && info.st_ino == handle.inode) return fd;
  if (fd >= 0) close(fd);
  require(lives(handle.owner), CUDA_ERROR_INVALID_CONTEXT, kGone);
  refuse(CUDA_ERROR_INVALID_HANDLE, "the exporter has freed the allocation");
}

std::shared_ptr<Block> import(Context& context, const Handle& handle, int device) {
  File file{open_owner(handle)};
  auto block = std::make_shared<Block>();
  block->kind = Block::kImported;
  block->size = handle.size;
  block->mapped = granules(handle.size);
  block->device = device;
  block->context = &context;
  block->nonce = handle.nonce;
  block->importers = map_importers(file.fd);
  bool listed = block->importers->nonce == handle.nonce && enter(block->importers);
  block->base = listed ? map_at_random(file.fd, block->mapped) : 0;
  if (block->base == 0) {
    munmap(block->importers, kPage);
    refuse(CUDA_ERROR_MAP_FAILED, listed ? "no room to map it" : "freed, or open in 500 processes");
  }
  return block;
}

// This process's number for one of the machine's devices.
int ordinal_of(int machine) {
  const std::vector<int>& visible = settings().visible;
  auto found = std::find(visible.begin(), visible.end(), machine);
  require(found != visible.end(), CUDA_ERROR_INVALID_DEVICE, "it is on a device that CUDA_VISIBLE_DEVICES hides");
  return static_cast<int>(found - visible.begin());
}

// One context a device may have a process's memory open, and within it a second open
// counts. Null: not open here.
std::shared_ptr<Block> opened_before(Context& context, uint64_t nonce) {
  std::shared_ptr<Block> before = state().blocks.first([&](const Block& block) {
    return block.kind == Block::kImported && block.nonce == nonce && block.context->device == context.device;
  });
  require(!before || before->context == &context, CUDA_ERROR_ALREADY_MAPPED, "open in another context of this device");
  return before;
}

}  // namespace

void make_importers(Block& block) {
  block.importers = map_importers(block.fd);
  block.importers->nonce = block.nonce = random64();
}

void leave_importers(Block& block) {
  uint64_t me = identity(getpid());
  for (auto& slot : block.importers->who) {
    uint64_t mine = me;
    if (slot.compare_exchange_strong(mine, 0)) break;
  }
  munmap(block.importers, kPage);
}

// A GPU leaves this undefined; here the process ends, so that no test passes with it.
void require_no_importers(const Block& block) {
  std::string pids;
  for (auto& slot : block.importers->who) {
    if (lives(slot)) pids += " " + std::to_string(pid_of(slot));
  }
  if (pids.empty()) return;
  char address[32];
  snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(block.base));
  report("==== libcuda stand-in, process " + std::to_string(getpid()) + ": the allocation at " + address + " of " +
         std::to_string(block.size) + " bytes is freed while it is open in process" + pids +
         "\n==== on a GPU this is undefined: close it there first (cuIpcCloseMemHandle)\n");
  abort();
}

}  // namespace driver

using namespace driver;

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  return api(__func__, [&](Call& call) {
    call.address("address", address);
    current();
    require(settings().ipc != IPC::kOff, CUDA_ERROR_NOT_SUPPORTED, "HOGWILD_FAKE_NO_IPC");
    std::shared_ptr<Block> block = state().blocks.find(address);
    require(block && block->kind == Block::kDevice && block->base == address, CUDA_ERROR_INVALID_VALUE,
            "not the start of a cuMemAlloc allocation of this process");
    struct stat info;
    require(fstat(block->fd, &info) == 0, CUDA_ERROR_OPERATING_SYSTEM, "the memfd is gone");
    Handle handle = {};
    memcpy(handle.magic, kMagic, sizeof kMagic);
    handle.owner = identity(getpid());
    handle.inode = info.st_ino;
    handle.size = block->size;
    handle.offset = kPage;
    handle.nonce = block->nonce;
    handle.fd = block->fd;
    handle.device = settings().visible[block->device];
    handle.check = handle.sum();
    memcpy(out, &handle, sizeof handle);
    call.number("bytes", block->size);
    call.address("nonce", handle.nonce);
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle in, unsigned int flags) {
  return api(__func__, [&](Call& call) {
    Handle handle;
    memcpy(&handle, &in, sizeof handle);
    call.address("nonce", handle.nonce);
    Context& context = current();
    call.number("device", context.device);
    require(settings().ipc != IPC::kOff, CUDA_ERROR_NOT_SUPPORTED, "HOGWILD_FAKE_NO_IPC");
    require(settings().ipc == IPC::kOn, CUDA_ERROR_INVALID_CONTEXT, "HOGWILD_FAKE_NO_IPC=open");
    require(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE,
            "flags must be CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS");
    require(memcmp(handle.magic, kMagic, sizeof kMagic) == 0 && handle.check == handle.sum() &&
            handle.offset == kPage, CUDA_ERROR_INVALID_VALUE, "not a handle of cuIpcGetMemHandle");
    require(pid_of(handle.owner) != getpid(), CUDA_ERROR_INVALID_CONTEXT, "this process exported it");
    int device = ordinal_of(handle.device);
    require(device == context.device || settings().p2p != P2P::kOff, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
            "it is another device's, and HOGWILD_FAKE_P2P=off");
    std::lock_guard<std::mutex> lock(state().mutex);
    std::shared_ptr<Block> block = opened_before(context, handle.nonce);
    if (block) {
      block->references++;
    } else {
      block = import(context, handle, device);
      state().blocks.add(block);
      if (device != context.device) context.peers.fetch_or(1ull << device);
    }
    *address = block->base;
    call.address("address", block->base);
    call.number("bytes", block->size);
    call.number("references", block->references);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return api(__func__, [&](Call& call) {
    call.address("address", address);
    current().synchronise();
    std::lock_guard<std::mutex> lock(state().mutex);
    std::shared_ptr<Block> block = state().blocks.find(address);
    require(block && block->kind == Block::kImported && block->base == address, CUDA_ERROR_INVALID_VALUE,
            "not memory that cuIpcOpenMemHandle returned");
    call.address("nonce", block->nonce);
    if (--block->references > 0) return;
    state().blocks.take([&](const Block& b) { return &b == block.get(); });
    dispose(*block);
  });
}
