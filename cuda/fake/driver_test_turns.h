// driver_test_turns.h tests that processes take turns on a GPU.
#pragma once

#include <fstream>

#include "driver_test_ipc.h"

inline std::string turns_file() { return "TURNS=/tmp/driver_test_turns." + std::to_string(getpid()); }

// How many turns of this process and of others the file tells of. It goes.
inline std::pair<int, int> turns_taken() {
  std::ifstream file(getenv("HOGWILD_FAKE_TURNS"));
  std::pair<int, int> taken;
  for (std::string line; std::getline(file, line);) {
    bool own = line.find("{\"pid\":" + std::to_string(getpid()) + ",") == 0;
    ++(own ? taken.first : taken.second);
    CHECK(line.find(",\"ctas\":1,\"sms\":132}") != line.npos);
  }
  unlink(getenv("HOGWILD_FAKE_TURNS"));
  return taken;
}

inline CUdeviceptr shared_zero(CUipcMemHandle* handle) {
  start();
  CUdeviceptr a = allocate(4);
  OK(cuMemsetD32(a, 0, 1));
  OK(cuCtxSynchronize());  // other processes do not stand in its queue
  OK(cuIpcGetMemHandle(handle, a));
  return a;
}

// Kernels of two processes add to a word by turns, until it is 100.
inline void relay() {
  CUipcMemHandle handle;
  CUdeviceptr a = shared_zero(&handle);
  Peer other;
  OK(other.tell('o', handle).result);
  OK(launch(function("relay"), nullptr, a, 0));
  OK(other.tell('p', {}, 1).result);
  CHECK(word(a) == 100);
  OK(other.tell('c').result);
  other.end();
}

// None adds twice in a turn, so there are 100 turns.
inline void turns() {
  relay();
  auto [own, others] = turns_taken();
  CHECK(own >= 50 && others >= 50);
}

// Clients of a service run side by side.
inline void no_turns() {
  char folder[] = "/tmp/driver_test_mps.XXXXXX";
  CHECK(mkdtemp(folder) != nullptr);
  std::string control = std::string(folder) + "/control";
  close(open(control.c_str(), O_CREAT | O_WRONLY, 0600));
  setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
  relay();
  auto [own, others] = turns_taken();
  CHECK(own == 0 && others == 0);
  unlink(control.c_str());
  rmdir(folder);
}

// Who has the turn on device 0, or waits for it, does not keep it when it is killed.
inline void killed_in_its_turn() {
  CUipcMemHandle handle;
  CUdeviceptr a = shared_zero(&handle);
  int file = open(getenv("HOGWILD_FAKE_TURNS"), O_RDWR);
  auto locked = [&](int byte) {
    struct flock lock = {};
    lock.l_type = F_WRLCK, lock.l_start = byte, lock.l_len = 1;
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  };
  Peer holder, next;
  OK(holder.tell('o', handle).result);
  OK(next.tell('o', handle).result);
  OK(holder.tell('g').result);  // a kernel that does not end
  while (!locked(0)) usleep(100);
  OK(next.tell('g').result);
  while (!locked(1)) usleep(100);
  next.end(SIGKILL);
  holder.end(SIGKILL);
  OK(launch(function("store"), nullptr, a, 1));
  CHECK(word(a) == 1);
  close(file);
  auto [own, others] = turns_taken();
  CHECK(own == 1);
}
