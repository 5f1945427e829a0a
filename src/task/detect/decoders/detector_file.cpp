#include "task/detect/decoders/detector_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace evener::task {

std::int64_t TrialOutput::columns() const {
  return shape.size() < 2 ? 1 : shape.back();
}

std::int64_t TrialOutput::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) rows *= i + 1 < shape.size() || shape.size() == 1 ? shape[i] : 1;
  return rows;
}

std::string DetectorFile::told(const std::string& key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

const TrialOutput* DetectorFile::named(std::initializer_list<const char*> words) const {
  for (const TrialOutput& output : outputs) {
    std::string name = output.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; })) {
      return &output;
    }
  }
  return nullptr;
}

float probability_of(float logit) {
  return 1 / (1 + std::exp(-logit));
}

float logit_of(float probability) {
  return std::log(probability / (1 - probability));
}

bool has_logits(std::span<const float> values) {
  return std::ranges::any_of(values, [](float value) { return value < 0 || value > 1; });
}

}  // namespace evener::task
