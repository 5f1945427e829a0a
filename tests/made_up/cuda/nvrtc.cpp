// A made-up libnvrtc.so.13: what it compiles runs on the CPU. MADE_UP_NVRTC_VERSION (13000) is CUDA's version that its
// PTX is of, MADE_UP_NVRTC_NEWEST (121) the newest capability that it knows.
#include "made_up/cuda/nvrtc.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "made_up/cuda/compiler.h"
#include "made_up/cuda/image.h"

namespace {

using made_up::cuda::Image;

enum Result {
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
  kInternal = 11
};

struct Program {
  std::string text, name, log, ptx, cubin;
};

int number_from(const char* name, int otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::atoi(given) : otherwise;
}

std::vector<int> known_capabilities() {
  std::vector<int> all = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
  std::erase_if(all, [newest = number_from("MADE_UP_NVRTC_NEWEST", 121)](int each) { return each > newest; });
  return all;
}

std::atomic<long> compilations{0};

Result take_option(std::string_view option, std::vector<std::string>& definitions, Image& image, Program& program) {
  const auto after = [&](std::string_view begin) { return std::string(option.substr(begin.size())); };
  if (option.starts_with("-D")) {
    definitions.push_back(after("-D"));
    return kSuccess;
  }
  for (const std::string_view begin : {"--gpu-architecture=", "-arch="}) {
    if (!option.starts_with(begin)) continue;
    const std::string value = after(begin);
    image.is_ptx = value.starts_with("compute_");
    const int capability = std::atoi(value.substr(value.find('_') + 1).c_str());
    const std::vector<int> known = known_capabilities();
    if (!image.is_ptx && !value.starts_with("sm_")) break;
    if (std::ranges::find(known, capability) == known.end()) break;
    image.capability = capability;
    return kSuccess;
  }
  if (option.starts_with("--ptxas-options=")) return kSuccess;
  program.log = "made-up nvrtc: error: invalid value or option: " + std::string(option) + "\n";
  return kInvalidOption;
}

Program* program_of(void* handle) {
  return static_cast<Program*>(handle);
}

int size_of(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return kSuccess;
}
int copy(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

long made_up_nvrtc_compilations() {
  return compilations;
}

int nvrtcVersion(int* major, int* minor) {
  const int version = number_from("MADE_UP_NVRTC_VERSION", 13000);
  *major = version / 1000;
  *minor = version % 1000 / 10;
  return kSuccess;
}

int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(known_capabilities().size());
  return kSuccess;
}
int nvrtcGetSupportedArchs(int* values) {
  std::ranges::copy(known_capabilities(), values);
  return kSuccess;
}

int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers, const char* const*,
                       const char* const*) {
  if (program == nullptr || text == nullptr || headers != 0) return kInvalidInput;
  auto made = std::make_unique<Program>();
  made->text = text;
  made->name = name != nullptr ? name : "default_program";
  *program = made.release();
  return kSuccess;
}

int nvrtcDestroyProgram(void** program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete program_of(*program);
  *program = nullptr;
  return kSuccess;
}

int nvrtcCompileProgram(void* handle, int options, const char* const* texts) {
  Program& program = *program_of(handle);
  std::vector<std::string> definitions;
  Image image;
  image.is_ptx = true;
  image.capability = 75;
  image.cuda_version = number_from("MADE_UP_NVRTC_VERSION", 13000);
  program.log.clear();
  for (int i = 0; i < options; ++i) {
    if (const Result result = take_option(texts[i], definitions, image, program); result != kSuccess) return result;
  }
  try {
    image.object = made_up::cuda::compile(program.text, program.name, definitions);
    ++compilations;
  } catch (const made_up::cuda::DoesNotCompile& error) {
    program.log = error.what();
    return kCompilation;
  } catch (const std::exception& error) {
    program.log = error.what();
    return kInternal;
  }
  program.ptx = made_up::cuda::ptx_of(image);
  program.cubin = image.is_ptx ? "" : made_up::cuda::cubin_of(image);
  return kSuccess;
}

int nvrtcGetPTXSize(void* program, std::size_t* bytes) {
  return size_of(program_of(program)->ptx, bytes);
}
int nvrtcGetPTX(void* program, char* to) {
  return copy(program_of(program)->ptx, to);
}
int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = program_of(program)->cubin.size();
  return kSuccess;
}
int nvrtcGetCUBIN(void* program, char* to) {
  const std::string& cubin = program_of(program)->cubin;
  std::memcpy(to, cubin.data(), cubin.size());
  return kSuccess;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  return size_of(program_of(program)->log, bytes);
}
int nvrtcGetProgramLog(void* program, char* to) {
  return copy(program_of(program)->log, to);
}

const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case kSuccess:
      return "NVRTC_SUCCESS";
    case kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

}  // extern "C"
