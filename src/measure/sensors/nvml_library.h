// The driver's library NVML, opened at run time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "measure/sensors/nvml_api.h"

namespace evener::measure {

/// A started NVML, or why there is none.
class NvmlLibrary {
 public:
  /// `library`: path of the library; empty = $EVENER_NVML, or else the driver's libnvidia-ml.so.1.
  explicit NvmlLibrary(std::filesystem::path library);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// Why it can't be used, and what would help (may be empty); "" = it can be used.
  const std::string& refusal() const { return refusal_; }
  const std::string& remedy() const { return remedy_; }

  /// Those that are not needed by every use may be null, in old drivers.
  const nvml::Functions& call() const { return call_; }

  /// The value from `function`, if the library has it and the call succeeds.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> ask(Function function, Arguments... arguments) const {
    Value value{};
    if (function == nullptr || function(arguments..., &value) != nvml::kSuccess) return std::nullopt;
    return value;
  }

  /// The number of cards; 0 where it can't be used.
  unsigned int cards() const;
  /// The card's UUID; "" = it tells none.
  std::string uuid(nvml::Device device) const;
  std::string name(nvml::Device device) const;

 private:
  /// The name of a needed function that the library lacks; "" = it has all.
  std::string find_functions(void* opened);

  nvml::Functions call_;
  bool begun_ = false;
  std::string refusal_, remedy_;
};

/// The machine's number of the card that CUDA calls cuda:`index`; they differ if CUDA_VISIBLE_DEVICES shows only some
/// cards.
int card_of(int index);

}  // namespace evener::measure
