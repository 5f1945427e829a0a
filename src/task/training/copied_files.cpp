#include "task/training/copied_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace evener::task {

CopySearch search_copies(const data::OpenedData& data, int threads) {
  const data::Dataset& dataset = *data.dataset;
  CopySearch search;
  search.is_made = true;
  const data::ImageShape shape = dataset.shape();
  if (!data::near_copies_are_sought(shape)) {
    search.near_reason = fmt::format(
        "images of {}x{} pixels are too small to tell near copies from others: they would "
        "need {} a side",
        shape.width, shape.height, data::kLeastComparedSide);
  }
  std::vector<std::uint32_t> judged = data.split.val;
  judged.insert(judged.end(), data.split.test.begin(), data.split.test.end());
  std::set<std::uint32_t> all, exact;
  const std::set<std::uint32_t> validation(data.split.val.begin(), data.split.val.end());
  for (const data::CopiedImage& copy : data::find_copies(dataset, data.split.train, judged, std::max(1, threads))) {
    all.insert(copy.judged);
    if (copy.relation.is_exact) exact.insert(copy.judged);
    search.pairs.push_back({dataset.source(copy.judged), validation.contains(copy.judged) ? "validation" : "test",
                            dataset.source(copy.trained), copy.relation, copy.distance});
  }
  search.judged = all.size();
  search.exact = exact.size();
  return search;
}

CopySearch copies_after_training(const data::OpenedData& data, int threads) {
  const data::Dataset& dataset = *data.dataset;
  const auto is_away = [&](std::uint32_t sample) { return dataset.pixels(sample) == nullptr; };
  if (dataset.target_kind() != data::TargetKind::kClasses || std::ranges::any_of(data.split.val, is_away) ||
      std::ranges::any_of(data.split.test, is_away) || std::ranges::any_of(data.split.train, is_away)) {
    return {};
  }
  try {
    return search_copies(data, threads);
  } catch (const Interrupted&) {  // the training is over: it is not what was interrupted
    return {};
  }
}

}  // namespace evener::task
