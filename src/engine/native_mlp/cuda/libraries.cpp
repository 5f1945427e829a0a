#include "engine/native_mlp/cuda/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>

#include "base/error.h"

namespace evener::engine::native_mlp {
namespace {

/// Opens the first library that exists. It is never closed, since unloading drivers can crash.
void* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

/// The library and its functions, looked up once in the life of the process.
template <class Calls>
struct Opened {
  Opened(void* handle, const std::string& absent, const std::string& too_old) : calls(handle) {
    if (handle == nullptr) {
      why = absent;
    } else if (!calls.missing().empty()) {
      why = too_old + " (it has no " + calls.missing() + ")";
    }
  }
  const Calls* usable() const { return why.empty() ? &calls : nullptr; }
  Calls calls;
  std::string why;
};

const char* cuda_prelude() {
  return R"(
#define KERNEL extern "C" __global__ void
#define GROUP_OF(x, y) __launch_bounds__((x) * (y))
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(name, count) __shared__ __align__(64) float name[count]
#define PRIVATE_ARRAY(name, count) __align__(4 * VECTOR) float name[count]
#define BARRIER() __syncthreads()
#define GROUP_X ((int)blockIdx.x)
#define GROUP_Y ((int)blockIdx.y)
#define ITEM_X ((int)threadIdx.x)
#define ITEM_Y ((int)threadIdx.y)
#define PLACE unsigned long long
typedef unsigned char Byte;
struct __align__(4 * VECTOR) Vector { float lanes[VECTOR]; };
FUNCTION Vector operator*(float factor, const Vector& vector) {
  Vector result;
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) result.lanes[i] = factor * vector.lanes[i];
  return result;
}
FUNCTION void operator+=(Vector& sum, const Vector& vector) {
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sum.lanes[i] += vector.lanes[i];
}
#define LOAD_VECTOR(from) (*(const Vector*)(from))
#define STORE_VECTOR(value, to) (*(Vector*)(to) = (value))
#define ZERO_VECTOR (Vector{})
)";
}

class Program {
 public:
  Program(const NvrtcCalls& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    require(nvrtc_.create(&handle_, text.c_str(), "evener.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.destroy(&handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    if (nvrtc_.compile(handle_, static_cast<int>(texts.size()), texts.data()) != 0) {
      constexpr std::size_t kLongest = 1000;
      throw Error("NVRTC can't compile the kernels; it says: " + text(nvrtc_.log_size, nvrtc_.log).substr(0, kLongest));
    }
  }

  template <class Size, class Read>
  std::string text(Size size, Read read) const {
    std::size_t bytes = 0;
    require(size(handle_, &bytes), "NVRTC's answer");
    std::string result(bytes, '\0');
    require(read(handle_, result.data()), "NVRTC's answer");
    return result;
  }

 private:
  void require(int code, const char* call) const {
    if (code != 0) throw Error(std::string(call) + " failed: " + nvrtc_.error_text(code));
  }

  const NvrtcCalls& nvrtc_;
  NvrtcCalls::Program handle_ = nullptr;
};

/// The compute capabilities that NVRTC knows, in ascending order.
std::vector<int> known_capabilities(const NvrtcCalls& nvrtc) {
  int count = 0;
  if (nvrtc.capability_count(&count) != 0 || count <= 0) return {};
  std::vector<int> known(static_cast<std::size_t>(count));
  if (nvrtc.capabilities(known.data()) != 0) return {};
  std::ranges::sort(known);
  return known;
}

CudaCode compile_anew(const NvrtcCalls& nvrtc, const std::string& source,
                      const std::vector<std::pair<std::string, int>>& macros, int capability) {
  const std::vector<int> known = known_capabilities(nvrtc);
  const auto next = std::ranges::upper_bound(known, capability);
  // If there is none below, NVRTC's own message says why.
  const int nearest = next != known.begin() ? *std::prev(next) : capability;
  CudaCode code;
  code.is_ptx = nearest != capability || known.empty();
  std::vector<std::string> options;
  for (const auto& [name, value] : macros) options.push_back("-D" + name + "=" + std::to_string(value));
  options.push_back((code.is_ptx ? "--gpu-architecture=compute_" : "--gpu-architecture=sm_") + std::to_string(nearest));
  if (!code.is_ptx) options.push_back("--ptxas-options=-v");
  Program program(nvrtc, cuda_prelude() + source);
  program.compile(options);
  code.image = code.is_ptx ? program.text(nvrtc.ptx_size, nvrtc.ptx) : program.text(nvrtc.cubin_size, nvrtc.cubin);
  code.log = program.text(nvrtc.log_size, nvrtc.log);
  return code;
}

}  // namespace

Library::Found Library::find(const char* name) {
  void* const address = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
  if (address == nullptr && missing_.empty()) missing_ = name;
  return {address};
}

const CudaCalls* cuda_calls(std::string& why) {
  // The second name is where Windows puts it for WSL2.
  static const Opened<CudaCalls> opened(
      first_of({"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}),
      "libcuda.so.1 is not found: install the NVIDIA driver (580 or newer), in a container start it with GPU support",
      "libcuda.so.1 is too old: install driver 580 or newer");
  why = opened.why;
  return opened.usable();
}

const NvrtcCalls* nvrtc_calls(std::string& why) {
  static const Opened<NvrtcCalls> opened(
      first_of({"libnvrtc.so.13", "libnvrtc.so"}),
      "libnvrtc.so.13, CUDA's run-time compiler, is not found: './evener --with-cuda setup' fetches it",
      "libnvrtc is not one of CUDA 13: './evener --with-cuda setup' fetches the right one");
  why = opened.why;
  return opened.usable();
}

const CudaCode& compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                             const std::vector<std::pair<std::string, int>>& macros, int capability) {
  static std::mutex mutex;
  static std::map<std::string, CudaCode> compiled;
  std::string key = std::to_string(capability);
  for (const auto& [name, value] : macros) key += ' ' + name + '=' + std::to_string(value);
  key += '\n' + source;
  const std::lock_guard lock(mutex);
  const auto found = compiled.find(key);
  if (found != compiled.end()) return found->second;
  return compiled.emplace(key, compile_anew(nvrtc, source, macros, capability)).first->second;
}

}  // namespace evener::engine::native_mlp
