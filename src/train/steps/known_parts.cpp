#include "train/steps/known_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/plural.h"
#include "data/locations.h"
#include "train/steps/train.h"

namespace evener::training {

namespace {

using data::SplitManifest;

std::optional<SplitManifest> manifest_of_run(const TrainOptions& options) {
  return SplitManifest::can_know(options.data.location) ? SplitManifest::load(options.out) : std::nullopt;
}

std::optional<SplitManifest> manifest_of_weights(const TrainOptions& options) {
  return SplitManifest::can_know(options.data.location) ? SplitManifest::beside(options.weights) : std::nullopt;
}

void sort_parts(data::Split& split) {
  for (auto* part : {&split.train, &split.val, &split.test}) std::ranges::sort(*part);
}

/// Divides images that the weights' run didn't know by the options' split; the others keep their parts.
void divide_new(const TrainOptions& options, const data::Split& known, data::OpenedData& opened) {
  std::vector<std::uint32_t> others = known.added;
  others.insert(others.end(), known.changed.begin(), known.changed.end());
  std::ranges::sort(others);
  const std::vector<double> percent = options.data.split.empty() ? std::vector<double>{85, 2, 13} : options.data.split;
  const data::Split divided = data::split_samples(*opened.dataset, others, percent, options.data.seed);
  data::Split& split = opened.split;
  split = known;
  split.added.clear();
  split.changed.clear();
  split.train.insert(split.train.end(), divided.train.begin(), divided.train.end());
  split.val.insert(split.val.end(), divided.val.begin(), divided.val.end());
  split.test.insert(split.test.end(), divided.test.begin(), divided.test.end());
  sort_parts(split);
  opened.notes.push_back(fmt::format(
      "{} in the parts that they had in the training of '{}'{}",
      counted(opened.dataset->size() - others.size(), "image stays", "images stay"), options.weights.string(),
      others.empty() ? "" : fmt::format("; {} divided", counted(others.size(), "new one is", "new ones are"))));
}

/// However the data was divided, images that the weights were trained on go into the training part.
void move_trained(const TrainOptions& options, const data::RecalledSplit& recalled, data::OpenedData& opened) {
  std::vector<std::uint32_t> trained = recalled.split.train;
  trained.insert(trained.end(), recalled.were_trained.begin(), recalled.were_trained.end());
  std::ranges::sort(trained);
  std::vector<std::uint32_t> judged;
  for (auto* part : {&opened.split.val, &opened.split.test}) {
    std::erase_if(*part, [&](std::uint32_t sample) {
      const bool was_trained = std::ranges::binary_search(trained, sample);
      if (was_trained) judged.push_back(sample);
      return was_trained;
    });
  }
  if (judged.empty()) return;
  if (options.epochs == 0 && opened.split.val.empty() && opened.split.test.empty()) {
    throw UsageError(
        fmt::format("'{}' was trained on all {} of '{}' that would judge it, so that its accuracy on them says nothing "
                    "of new images; leave out --split, or name other data",
                    options.weights.string(), counted(judged.size(), "image"), options.data.location));
  }
  opened.split.train.insert(opened.split.train.end(), judged.begin(), judged.end());
  sort_parts(opened.split);
  opened.notes.push_back(fmt::format(
      "'{}' was trained on {} of the parts to validate on and to test with: {} in the training part instead",
      options.weights.string(), counted(judged.size(), "image"), judged.size() == 1 ? "it is" : "they are"));
}

}  // namespace

CopySearch search_copies(const data::OpenedData& data, int threads) {
  const data::Dataset& dataset = *data.dataset;
  CopySearch search;
  search.is_made = true;
  const data::ImageShape shape = dataset.shape();
  if (!data::near_copies_are_sought(shape)) {
    search.near_reason =
        fmt::format("images of {}x{} pixels are too small to tell near copies from others: they would need {} a side",
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

void require_data_of_run(const TrainOptions& options) {
  const std::string& location = options.data.location;
  if (!options.resume || !SplitManifest::can_know(location) || data::are_on_disk(location)) return;
  throw UsageError(fmt::format(
      "'{}', the data of the run in '{}', isn't there any more; name the folder that has its images now with --data",
      location, options.out.string()));
}

void resume_parts(const TrainOptions& options, data::OpenedData& opened) {
  const auto manifest = manifest_of_run(options);
  if (!manifest) return;
  data::RecalledSplit recalled = manifest->recall(opened, options.data.location, options.data.threads);
  const std::string changes = recalled.changes();
  constexpr std::size_t kTest = 2;
  for (std::size_t part = 0; part < kTest; ++part) {
    if (recalled.gone[part] + recalled.changed[part] == 0) continue;
    throw UsageError(fmt::format(
        "can't go on with '{}': since it began, in '{}' {}. Put back what it was trained on and validated on (or name "
        "the folder that has it with --data), or train anew from its weights: --weights {} with another --out",
        options.out.string(), options.data.location, changes, (options.out / "best.safetensors").string()));
  }
  if (!changes.empty()) {
    opened.notes.push_back(
        fmt::format("'{}' has changed since the run began: {}. The run goes on with the images that it knows; to learn "
                    "from all, train anew from its weights: --weights {} with another --out",
                    options.data.location, changes, (options.out / "best.safetensors").string()));
  }
  opened.split = std::move(recalled.split);
}

void inherit_parts(const TrainOptions& options, data::OpenedData& opened) {
  const auto manifest = manifest_of_weights(options);
  if (!manifest) return;
  const data::RecalledSplit recalled = manifest->recall(opened, options.data.location, options.data.threads);
  const bool is_known = 2 * recalled.found() > opened.dataset->size();
  if (options.inherits_parts && is_known && !opened.came_divided) {
    divide_new(options, recalled.split, opened);
  } else {
    move_trained(options, recalled, opened);
  }
}

bool knows_its_images(const TrainOptions& options) {
  return manifest_of_run(options).has_value();
}

void leave_out_dropped(const TrainOptions& options, data::OpenedData& opened) {
  const data::LeftOut left = data::leave_out(*options.drop, options.data.location, opened);
  opened.notes.push_back(left.text);
  opened.notes.insert(opened.notes.end(), left.notes.begin(), left.notes.end());
  if (opened.dataset->target_kind() == data::TargetKind::kBoxes || opened.split.train.empty()) return;
  std::vector<std::size_t> counts(opened.dataset->classes().size());
  for (const std::uint32_t sample : opened.split.train) {
    ++counts[static_cast<std::size_t>(data::label_of(*opened.dataset, sample))];
  }
  const auto lost = std::ranges::find(counts, 0U);
  if (lost == counts.end() || left.train == 0) return;
  opened.notes.push_back(fmt::format("no image of class '{}' is left to train on",
                                     opened.dataset->classes()[static_cast<std::size_t>(lost - counts.begin())]));
}

void save_manifest(const TrainOptions& options, const data::OpenedData& opened) {
  if (options.drop) data::write_dropped(*options.drop, options.out);
  if (!SplitManifest::can_know(options.data.location)) return;
  SplitManifest manifest(opened, options.data.location, options.data.threads);
  if (const auto before = manifest_of_weights(options)) manifest.add_trained(*before);
  manifest.save(options.out);
}

}  // namespace evener::training
