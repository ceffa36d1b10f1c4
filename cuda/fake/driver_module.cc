// driver_module.cc: modules of PTX and the functions in them, and how much of an SM a
// function takes.
#include <cstring>
#include <fstream>
#include <sstream>

#include "driver_function.h"

namespace driver {

constexpr size_t kDefaultShared = 48 << 10;  // bytes a block without asking
constexpr size_t kSharedReserved = 1 << 10;  // bytes a block for the system

std::shared_ptr<Function> function_of(CUfunction handle) {
  return state().functions.get(handle, CUDA_ERROR_INVALID_HANDLE, "no such function");
}

int max_threads(const Kernel& kernel) { return settings().max_threads ? settings().max_threads : kernel.max_threads; }

size_t shared_bytes(const Function& function, size_t dynamic) {
  return function.kernel->static_shared + dynamic;
}

uint64_t registers(const Function& function, uint64_t threads) {
  uint64_t warps = (threads + 31) / 32;
  return warps * ((function.kernel->registers * 32 + 255) / 256 * 256);
}

namespace {

// The program's log of the PTX compiler gets why it failed.
void log(const std::string& text, unsigned count, const CUjit_option* options, void** values) {
  char* buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<size_t>(values[i]);
  }
  if (buffer && size > 0) snprintf(buffer, size, "%s", text.c_str());
}

// The architecture that machine code is for, 90 for sm_90; 0: that of a fat binary, or of
// something else that is not PTX. Where ELF has it depends on the version of NVIDIA's form.
int architecture(const char* image) {
  if (memcmp(image, "\177ELF", 4) != 0) return 0;
  constexpr size_t kVersion = 8, kFlags = 48;
  uint32_t flags;
  memcpy(&flags, image + kFlags, sizeof flags);
  return image[kVersion] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
}

// Machine code is taken as a GPU takes it, if CUBINS says so, and cannot be run.
void load_code(int architecture) {
  int own = settings().capability;
  require(settings().cubins, CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code: the stand-in takes PTX only");
  require(architecture / 10 == own / 10 && architecture <= own, CUDA_ERROR_NO_BINARY_FOR_GPU,
          "machine code of another GPU");
}

std::unique_ptr<fake::Module> load_ptx(const char* image, unsigned count, const CUjit_option* options, void** values) {
  require(settings().jit, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "HOGWILD_FAKE_NO_JIT");
  Fault fault;
  auto module = fake::Module::load(image, settings().driver, settings().capability, &fault);
  if (!module) {
    log(fault.text, count, options, values);
    report("libcuda stand-in: the PTX is refused (" + std::to_string(fault.code) + "): " + fault.text + "\n");
    refuse(fault.code, fault.text);
  }
  return module;
}

// The one kernel of all machine code.
const Kernel& uninterpreted() {
  static const Kernel kernel = [] {
    Kernel k;
    k.name = "machine code";
    k.registers = 128;
    k.max_threads = 512;
    return k;
  }();
  return kernel;
}

void load(Call& call, CUmodule* handle, const char* image, unsigned count = 0, const CUjit_option* options = nullptr,
          void** values = nullptr) {
  Context& context = current();
  require(image != nullptr, CUDA_ERROR_INVALID_VALUE, "no image");
  auto loaded = std::make_shared<LoadedModule>();
  loaded->context = &context;
  if (memcmp(image, "\177ELF", 4) == 0 || memcmp(image, "\x50\xed\x55\xba", 4) == 0) {
    int sm = architecture(image);
    call.text("image", "sm_" + std::to_string(sm) + " cubin");
    load_code(sm);
  } else {
    const char* target = strstr(image, ".target ");
    call.text("image", "PTX " + (target ? std::string(target + 8, strcspn(target + 8, ", \n")) : ""));
    call.number("bytes", strlen(image));
    loaded->module = load_ptx(image, count, options, values);
  }
  *handle = state().modules.add<CUmodule>(loaded);
  call.address("module", host(*handle));
}

std::shared_ptr<LoadedModule> module_of(CUmodule handle) {
  return state().modules.get(handle, CUDA_ERROR_INVALID_HANDLE, "no such module");
}

}  // namespace
}  // namespace driver

using namespace driver;

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return api(__func__, [&](Call& call) { load(call, module, static_cast<const char*>(image)); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  return api(__func__, [&](Call& call) {
    load(call, module, static_cast<const char*>(image), count, options, values);
  });
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return api(__func__, [&](Call& call) {
    call.text("file", path);
    std::ifstream file(path);
    require(file.good(), CUDA_ERROR_FILE_NOT_FOUND, "no such file");
    std::stringstream text;
    text << file.rdbuf();
    load(call, module, text.str().c_str());
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<LoadedModule> module = module_of(handle);
    current().synchronise();
    state().functions.take([&](const Function& f) { return f.module == module; });
    state().blocks.take([&](const Block& b) { return b.kind == Block::kVariable && b.nonce == host(module.get()); });
    state().modules.take([&](const LoadedModule& m) { return &m == module.get(); });
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return api(__func__, [&](Call& call) {
    call.text("kernel", name);
    std::shared_ptr<LoadedModule> module = module_of(handle);
    const Kernel* kernel = module->module ? module->module->find(name) : &uninterpreted();
    require(kernel != nullptr, CUDA_ERROR_NOT_FOUND, "the module has no such kernel");
    auto found = std::make_shared<Function>();
    found->module = module;
    found->kernel = kernel;
    found->max_dynamic_shared = kDefaultShared - std::min(kDefaultShared, kernel->static_shared);
    *function = state().functions.add<CUfunction>(found);
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return api(__func__, [&](Call& call) {
    call.text("variable", name);
    std::shared_ptr<LoadedModule> module = module_of(handle);
    Range range = module->module ? module->module->variable(name) : Range{};
    require(range.size > 0, CUDA_ERROR_NOT_FOUND, "the module has no such variable");
    if (!state().blocks.find(range.base)) {  // from now on copies may reach it
      auto block = std::make_shared<Block>();
      block->kind = Block::kVariable;
      block->base = range.base;
      block->size = range.size;
      block->device = module->context->device;
      block->context = module->context;
      block->nonce = host(module.get());
      state().blocks.add(block);
    }
    if (address) *address = range.base;
    if (bytes) *bytes = range.size;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle) {
  return api(__func__, [&](Call& call) {
    std::shared_ptr<Function> function = function_of(handle);
    const Kernel& kernel = *function->kernel;
    switch (which) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads(kernel); break;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = kernel.static_shared; break;
      case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
      case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = kernel.local_bytes; break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kernel.registers; break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
      case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic_shared; break;
      case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
      default: refuse(CUDA_ERROR_INVALID_VALUE, "an attribute that the stand-in does not know");
    }
    call.number("attribute", which);
    call.number("value", *value);
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
  return api(__func__, [&](Call& call) {
    call.number("attribute", which);
    call.number("value", value);
    std::shared_ptr<Function> function = function_of(handle);
    int most = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      require(value >= 0 && shared_bytes(*function, value) <= static_cast<size_t>(most), CUDA_ERROR_INVALID_VALUE,
              "more shared memory than a block can have");
      function->max_dynamic_shared = value;
    } else if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
      require(value >= -1 && value <= 100, CUDA_ERROR_INVALID_VALUE, "-1 to 100 percent");
      function->carveout = value;
    } else {
      refuse(CUDA_ERROR_INVALID_VALUE, "not an attribute that can be set");
    }
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, size_t dynamic) {
  return api(__func__, [&](Call& call) {
    std::shared_ptr<Function> function = function_of(handle);
    require(threads > 0, CUDA_ERROR_INVALID_VALUE, "no threads");
    auto limit = [](CUdevice_attribute which) { return static_cast<uint64_t>(attribute(which, 0)); };
    uint64_t warps = (threads + 31) / 32;
    uint64_t shared = shared_bytes(*function, dynamic);
    uint64_t n = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    n = std::min(n, limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * 32));
    n = std::min(n, limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / registers(*function, threads));
    n = std::min(n, limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / (shared + kSharedReserved));
    bool fits = threads <= max_threads(*function->kernel) && dynamic <= function->max_dynamic_shared;
    *blocks = fits ? static_cast<int>(n) : 0;
    call.text("kernel", function->kernel->name);
    call.number("threads", threads);
    call.number("shared", dynamic);
    call.number("blocks", *blocks);
  });
}
