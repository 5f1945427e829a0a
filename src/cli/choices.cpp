#include "cli/choices.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/names.h"

namespace evener::cli {
namespace {

double percent(const std::string& text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) ? value : -1;
}

}  // namespace

const std::string& chosen(const char* what, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw UsageError(unknown_name_message(what, name, known));
  return name;
}

engine::Loss parse_loss(const std::string& name) {
  chosen("loss", name, {"cross-entropy", "mse"});
  return name == "mse" ? engine::Loss::kMse : engine::Loss::kCrossEntropy;
}

engine::KernelChoice parse_kernels(const std::string& name) {
  return chosen("kernels", name, {"simd", "naive"}) == "naive" ? engine::KernelChoice::kNaive
                                                               : engine::KernelChoice::kSimd;
}

engine::MemoryLayout parse_layout(const std::string& name) {
  chosen("layout", name, {"auto", "nchw", "nhwc"});
  if (name == "auto") return engine::MemoryLayout::kAuto;
  return name == "nhwc" ? engine::MemoryLayout::kChannelsLast : engine::MemoryLayout::kChannelsFirst;
}

std::vector<double> parse_split(const std::string& text) {
  std::vector<double> parts;
  std::stringstream stream(text);
  double sum = 0;
  bool good = !text.empty() && text.back() != '/';
  for (std::string part; std::getline(stream, part, '/');) {
    parts.push_back(percent(part));
    good = good && parts.back() >= 0;
    sum += parts.back();
  }
  if (!good || parts.size() < 2 || parts.size() > 3 || parts[0] <= 0 || sum > 100 + 1e-9) {
    throw UsageError("--split '" + text +
                     "' is not TRAIN/VALIDATION[/TEST] in percent with a sum of at most 100, such as 85/2/13");
  }
  return parts;
}

}  // namespace evener::cli
