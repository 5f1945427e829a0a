#include "task/copied_files.h"

#include <algorithm>

#include "base/error.h"
#include "data/copies.h"

namespace evener::task {

std::vector<CopiedFiles> copied_files(const data::OpenedData& data, int threads) {
  const data::Dataset& dataset = *data.dataset;
  std::vector<std::uint32_t> judged = data.split.val;
  judged.insert(judged.end(), data.split.test.begin(), data.split.test.end());
  const auto is_away = [&](std::uint32_t sample) { return dataset.pixels(sample) == nullptr; };
  if (dataset.target_kind() != data::TargetKind::kClasses || std::ranges::any_of(judged, is_away) ||
      std::ranges::any_of(data.split.train, is_away)) {
    return {};
  }
  std::vector<CopiedFiles> files;
  try {
    for (const data::CopiedImage& copy : data::find_copies(dataset, data.split.train, judged, std::max(1, threads))) {
      files.push_back({dataset.source(copy.judged), dataset.source(copy.trained), copy.is_exact});
    }
  } catch (const Interrupted&) {  // the training is over: it is not what was interrupted
  }
  return files;
}

}  // namespace evener::task
