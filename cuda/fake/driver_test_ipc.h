// driver_test_ipc.h tests sharing: a second process that does what it is told, and the
// cases that need it.
#pragma once

#include <signal.h>
#include <sys/socket.h>

#include "driver_test.h"

// Peer is another process that does what it is told, a letter at a time.
struct Order {
  char what;
  CUipcMemHandle handle;
  uint64_t value;
};
struct Answer {
  CUresult result;
  CUipcMemHandle handle;
  uint64_t value;
};

struct Peer {
  int fd;
  pid_t pid;
  Peer() {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    fd = ends[0];
    pid = fork();
    if (pid == 0) {
      dup2(ends[1], 3);
      alarm(60);  // its kernel may never end
      execl("/proc/self/exe", "driver_test", "peer", nullptr);
      _exit(127);
    }
    close(ends[1]);
  }
  Answer tell(char what, CUipcMemHandle handle = {}, uint64_t value = 0) {
    Order order{what, handle, value};
    Answer answer{CUDA_ERROR_UNKNOWN, {}, 0};
    if (write(fd, &order, sizeof order) != sizeof order || read(fd, &answer, sizeof answer) != sizeof answer)
      answer.result = CUDA_ERROR_UNKNOWN;  // it is dead
    return answer;
  }
  int end(int signal = 0) {  // its wait status
    if (signal) kill(pid, signal);
    close(fd);
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
};

inline void peer() {
  OK(cuInit(0));
  CUcontext context;
  CUresult retained = cuDevicePrimaryCtxRetain(&context, 0);
  if (!retained) cuCtxSetCurrent(context);
  CUdeviceptr address = 0;
  Order order;
  while (read(3, &order, sizeof order) == sizeof order) {
    Answer answer{retained, {}, 0};
    uint32_t value = 0;
    switch (retained ? 0 : order.what) {
      case 'x':
        answer.result = cuMemAlloc(&address, order.value);
        cuMemsetD32(address, 42, 1);
        if (!answer.result) answer.result = cuIpcGetMemHandle(&answer.handle, address);
        break;
      case 'f': answer.result = cuMemFree(address); break;
      case 'o':
        answer.result = cuIpcOpenMemHandle(&address, order.handle, 1);
        answer.value = address;
        break;
      case 'w': answer.result = launch(function("store"), nullptr, address, order.value); break;
      case 'p': answer.result = launch(function("relay"), nullptr, address, order.value); break;
      case 'g': answer.result = launch(function("gate"), nullptr, address); break;
      case 'r':
        answer.result = cuMemcpyDtoH(&value, address, 4);
        answer.value = value;
        break;
      case 'c': answer.result = cuIpcCloseMemHandle(address); break;
    }
    if (!answer.result && order.what != 'g') answer.result = cuCtxSynchronize();
    if (write(3, &answer, sizeof answer) != sizeof answer) return;
  }
}

inline void sharing() {
  start();
  CUipcMemHandle handle;
  CUdeviceptr a = allocate(1000), opened, again;
  OK(cuMemsetD32(a, 17, 1));
  OK(cuCtxSynchronize());  // a memset is not waited for; other processes do not stand in its queue
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, a + 4));
  OK(cuIpcGetMemHandle(&handle, a));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&opened, handle, 1));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&opened, handle, 0));
  std::thread([&] { REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&opened, handle, 1)); }).join();
  CUipcMemHandle spoilt = handle;
  spoilt.reserved[20] ^= 1;
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&opened, spoilt, 1));

  Peer importer, killed;
  Answer answer = importer.tell('o', handle);
  OK(answer.result);
  CHECK(answer.value != a);
  CHECK(importer.tell('r').value == 17);
  OK(importer.tell('w', {}, 23).result);
  CHECK(word(a) == 23);
  REFUSED(CUDA_ERROR_INVALID_VALUE, importer.tell('f').result);  // it is not its own
  OK(killed.tell('o', handle).result);
  killed.end(SIGKILL);
  OK(importer.tell('c').result);
  REFUSED(CUDA_ERROR_INVALID_VALUE, importer.tell('c').result);
  OK(cuMemFree(a));  // the killed one is no importer any more
  allocate(1000);    // likely with the same file descriptor
  REFUSED(CUDA_ERROR_INVALID_HANDLE, importer.tell('o', handle).result);
  CHECK(importer.end() == 0);

  Peer owner;
  handle = owner.tell('x', {}, 4096).handle;
  OK(cuIpcOpenMemHandle(&opened, handle, 1));
  OK(cuIpcOpenMemHandle(&again, handle, 1));  // counted: the same address
  CHECK(opened == again && word(opened) == 42);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&spoilt, opened));
  CUcontext other;
  OK(cuCtxCreate(&other, 0, 0));
  REFUSED(CUDA_ERROR_ALREADY_MAPPED, cuIpcOpenMemHandle(&again, handle, 1));
  OK(cuCtxDestroy(other));
  OK(cuIpcCloseMemHandle(opened));
  CHECK(word(opened) == 42);
  kill(owner.pid, SIGKILL);
  siginfo_t info;
  waitid(P_PID, owner.pid, &info, WEXITED | WNOWAIT);  // dead, and a zombie
  CHECK(word(opened) == 42);                           // what is mapped lives on
  OK(cuIpcCloseMemHandle(opened));
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&opened, handle, 1));
  owner.end();
  REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&opened, handle, 1));

  Peer hasty;
  OK(cuIpcOpenMemHandle(&opened, hasty.tell('x', {}, 4096).handle, 1));
  hasty.tell('f');  // with our mapping open
  int status = hasty.end();
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

// Two devices: what reaches from one to the other; p2p 0: nothing, 1: no atomics, 2: all.
inline void peers(int p2p) {
  start(0);
  CUdeviceptr here = allocate(4), there, opened;
  CUfunction store = function("store");
  CUcontext first, second;
  int can = -1, atomics = -1;
  OK(cuCtxGetCurrent(&first));
  second = start(1);
  there = allocate(4);
  OK(cuMemsetD32(there, 8, 1));
  OK(cuCtxSynchronize());
  OK(cuCtxSetCurrent(first));
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  OK(cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
  CHECK(can == (p2p > 0) && atomics == (p2p > 1));
  OK(cuMemcpyPeer(here, first, there, second, 4));  // copies need no peer access
  CHECK(word(here) == 8);
  Peer owner;  // on device 0
  CUipcMemHandle handle = owner.tell('x', {}, 4).handle;
  OK(cuCtxSetCurrent(second));
  if (!p2p) {
    REFUSED(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuIpcOpenMemHandle(&opened, handle, 1));
    REFUSED(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(first, 0));
    OK(cuCtxSetCurrent(first));
    OK(launch(store, nullptr, there, 9));
    REFUSED(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    return;
  }
  OK(cuIpcOpenMemHandle(&opened, handle, 1));
  OK(launch(function("store"), nullptr, opened, 4));
  CHECK(word(opened) == 4);
  OK(cuCtxSetCurrent(first));
  OK(cuCtxEnablePeerAccess(second, 0));
  REFUSED(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
  OK(launch(store, nullptr, there, 9));
  CHECK(word(there) == 9);
  OK(launch(function("add"), nullptr, there, 1));
  if (p2p == 1) {
    REFUSED(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
    return;
  }
  CHECK(word(there) == 10);
  OK(cuCtxDisablePeerAccess(second));
  REFUSED(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second));
}

inline void exclusive() {
  start();
  Peer second;
  REFUSED(CUDA_ERROR_DEVICE_UNAVAILABLE, second.tell('x', {}, 4).result);
  second.end();
  OK(cuDevicePrimaryCtxRelease(0));
  Peer third;
  OK(third.tell('x', {}, 4).result);
  third.end();
}
