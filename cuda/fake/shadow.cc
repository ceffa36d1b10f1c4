// shadow.cc watches shared memory, when asked: races between warps, and reads of what
// was never written.
//
// Between two barriers of a CTA its warps run in any order. So an access races with one
// of another warp to the same bytes since the last barrier if either writes. A word of
// the shadow keeps the readers and the last writer of that time; where warps mix bytes
// of one word it forgets the older ones, which may miss a race and never invents one.
// A barrier of some of the warps counts as one of all. Atomic and volatile accesses are
// taken for meant.
#include "memory.h"

namespace fake {

namespace {

void note_read(Shadow::Word* word, uint8_t bytes, uint32_t warp) {
  if (word->read != bytes) word->readers = 0;
  word->read = bytes;
  word->readers |= 1u << warp;
}

void stop_race(Warp& w, const Op& op, int lane, uint64_t offset, const char* mine, const char* other, int warp) {
  stop_lane(w, op, lane, kLaunchFailed,
            "race in shared memory: this thread " + std::string(mine) + " byte " + std::to_string(offset) +
                ", which warp " + std::to_string(warp) + " has " + other + " since the last barrier");
}

void check_race(Warp& w, const Op& op, int lane, uint64_t offset, Shadow::Word* word, uint8_t bytes, bool writes) {
  if (word->generation != w.cta->generation) {
    word->generation = w.cta->generation;
    word->readers = 0;
    word->read = word->written = 0;
  }
  if (word->written & bytes && word->writer != w.index) {
    stop_race(w, op, lane, offset, writes ? "writes" : "reads", "written", word->writer);
  }
  if (!writes) return note_read(word, bytes, w.index);
  uint32_t others = word->readers & ~(1u << w.index);
  if (word->read & bytes && others) stop_race(w, op, lane, offset, "writes", "read", first_lane(others));
  word->written = static_cast<uint8_t>(word->writer == w.index ? word->written | bytes : bytes);
  word->writer = static_cast<uint8_t>(w.index);
}

// known tells whether a read of whole words changes nothing: this warp has read the word
// since the last barrier, and no other has written it.
bool known(const Warp& w, const Shadow::Word& word) {
  return word.generation == w.cta->generation && word.readers >> w.index & 1 && word.read == 15 && word.ready == 15 &&
         (word.written == 0 || word.writer == w.index);
}

}  // namespace

void check_shared(Warp& w, const Op& op, int lane, uint64_t offset, uint32_t bytes, Access access) {
  Shadow& shadow = *w.cta->shadow;
  for (uint64_t at = offset & ~3ull; at < offset + bytes; at += 4) {
    Shadow::Word& word = shadow.words[at / 4];
    if (access == Access::kRead && bytes >= 4 && known(w, word)) continue;
    uint8_t touched = static_cast<uint8_t>(bytes >= 4 ? 15 : ((1u << bytes) - 1) << (offset & 3));
    if (shadow.uninitialised && access != Access::kWrite && (word.ready & touched) != touched) {
      stop_lane(w, op, lane, kLaunchFailed,
                "read of shared memory that was never written, at byte " + std::to_string(at < offset ? offset : at));
    }
    if (shadow.races && op.plain)
      check_race(w, op, lane, at < offset ? offset : at, &word, touched, access != Access::kRead);
    if (access != Access::kRead) word.ready |= touched;
  }
}

}  // namespace fake
