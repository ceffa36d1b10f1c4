// memory.h finds the memory of a warp's access and refuses what a GPU would refuse.
#pragma once

#include "lanes.h"

namespace fake {

enum class Access { kRead, kWrite, kAtomic };

// Where is the host address of each lane; lanes outside of the mask have one that may
// be read. Two patterns are common and quick: all lanes at one address, or all 32 in a
// row, one element after the other.
enum class Pattern { kScattered, kOne, kRow };
struct Where {
  alignas(64) uint8_t* p[kLanes];
  Pattern pattern;
};

// resolve finds them for an access of that many bytes a lane. at[4] is the place of the
// addresses, or kNowhere where op.offset is the whole of it.
void resolve(Warp& w, const Op& op, uint32_t mask, uint32_t bytes, Access access, Where* where);

// ld: at[0..3] destinations; st, red of a vector: at[0..3] values; atom, red: at[0] the
// destination or kNowhere, at[1] and at[2] values. Null where there is none such.
Run load_run(Type type, int lanes);
Run store_run(Type type, int lanes);
Run parameter_run(Type type, int lanes);  // ld.param, at offset
Run atomic_run(const std::string& operation, const std::string& type);
Run red_vector_run(int lanes);  // of f32

// Shadow remembers who touched shared memory: a word of it for four bytes.
struct Shadow {
  struct Word {
    uint32_t generation = 0;  // of what follows; older ones are forgotten
    uint32_t readers = 0;     // warps
    uint8_t writer = 0;       // warp
    uint8_t read = 0, written = 0;  // bytes
    uint8_t ready = 0;        // bytes written since the start; not forgotten
  };
  std::vector<Word> words;
  bool races = false, uninitialised = false;
};

// check_shared notes an access and refuses a race or what was never written.
void check_shared(Warp& w, const Op& op, int lane, uint64_t offset, uint32_t bytes, Access access);

}  // namespace fake
