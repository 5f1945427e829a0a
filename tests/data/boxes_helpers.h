// Folders of images with boxes, for the tests of what reads and writes them.
#pragma once

#include <string>
#include <vector>

#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data::test {

/// A PNG file of 40 x 20 pixels, grey.
inline std::string small_image() {
  return plain_png(40, 20, {120, 120, 120});
}

/// Opens what lies there, in its own size, on one thread.
inline OpenedData open_boxes(const std::filesystem::path& location,
                             const std::function<void(DataOptions&)>& change = {}) {
  DataOptions options;
  options.location = location.string();
  options.cache_limit_bytes = 1 << 20;
  if (change) change(options);
  return open_data(options);
}

inline std::vector<LabelledBox> boxes_of(const OpenedData& opened, std::size_t index) {
  return std::get<std::vector<LabelledBox>>(opened.dataset->targets(index));
}

/// "file: reason" of each, without the folder.
inline std::vector<std::string> reasons_of(const OpenedData& opened, const std::filesystem::path& folder) {
  std::vector<std::string> reasons;
  for (const Skipped& skipped : opened.skipped) {
    reasons.push_back(std::filesystem::path(skipped.file).lexically_relative(folder).string() + ": " + skipped.reason);
  }
  return reasons;
}

}  // namespace evener::data::test
