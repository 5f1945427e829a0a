#include "engine/native_mlp/cuda/compiler.h"

#include "base/error.h"
#include "engine/native_mlp/cuda/prelude.h"

namespace evener::engine::native_mlp {
namespace {

class Program {
 public:
  Program(const NvrtcCalls& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    require(nvrtc_.create(&handle_, text.c_str(), "evener.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.destroy(&handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    if (nvrtc_.compile(handle_, static_cast<int>(texts.size()), texts.data()) != 0) {
      constexpr std::size_t kLongest = 1000;
      throw Error("NVRTC can't compile the kernels; it says: " + text(nvrtc_.log_size, nvrtc_.log).substr(0, kLongest));
    }
    return text(nvrtc_.code_size, nvrtc_.code);
  }

 private:
  void require(int code, const char* call) const {
    if (code != 0) throw Error(std::string(call) + " failed: " + nvrtc_.error_text(code));
  }

  template <class Size, class Read>
  std::string text(Size size, Read read) const {
    std::size_t bytes = 0;
    require(size(handle_, &bytes), "NVRTC's answer");
    std::string result(bytes, '\0');
    require(read(handle_, result.data()), "NVRTC's answer");
    return result;
  }

  const NvrtcCalls& nvrtc_;
  NvrtcCalls::Program handle_ = nullptr;
};

}  // namespace

std::string compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                         const std::vector<std::pair<std::string, int>>& macros, int capability) {
  std::vector<std::string> options;
  for (const auto& [name, value] : macros) options.push_back("-D" + name + "=" + std::to_string(value));
  options.push_back("--gpu-architecture=compute_" + std::to_string(capability));
  return Program(nvrtc, cuda_prelude() + source).compile(options);
}

}  // namespace evener::engine::native_mlp
