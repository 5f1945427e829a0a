// A limit in a file of the kernel that holds one whole number.
#pragma once

#include <filesystem>

#include "measure/limits/hardware_limit.h"

namespace evener::measure {

class FileLimit final : public HardwareLimit {
 public:
  FileLimit(LimitFacts facts, std::filesystem::path file);

  std::optional<std::uint64_t> read() const override;
  std::optional<LimitProblem> set(std::uint64_t counts) const override;
  bool may_set() const override;

 private:
  const std::filesystem::path file_;
};

}  // namespace evener::measure
