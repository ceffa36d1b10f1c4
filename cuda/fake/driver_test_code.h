// driver_test_code.h tests which machine code a device takes.
#pragma once

#include "driver_test.h"

// What begins as machine code does, in that version of the form: the driver looks no further.
inline std::string machine_code(char version, uint32_t architecture) {
  std::string image(64, '\0');
  image.replace(0, 4, "\177ELF");
  image[8] = version;
  uint32_t flags = version >= 8 ? architecture << 8 | 2 : architecture << 16 | 0x500 | architecture;
  memcpy(&image[48], &flags, sizeof flags);
  return image;
}

// A GPU takes machine code of its own architecture and of older ones with its major number.
inline void machine_code_alone() {
  start();
  CUmodule module;
  CUfunction f;
  REFUSED(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, cuModuleLoadData(&module, kPTX));
  REFUSED(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, machine_code(7, 90).data()));
  REFUSED(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, machine_code(7, 75).data()));
  REFUSED(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, machine_code(8, 89).data()));
  OK(cuModuleLoadData(&module, machine_code(8, 80).data()));
  OK(cuModuleLoadData(&module, machine_code(7, 86).data()));
  OK(cuModuleGetFunction(&f, module, "anything"));
  REFUSED(CUDA_ERROR_NOT_SUPPORTED, launch(f, nullptr, allocate(4)));
  OK(cuModuleUnload(module));
}
