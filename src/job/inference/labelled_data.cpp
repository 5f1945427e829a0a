#include "job/inference/labelled_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/locations.h"
#include "data/open/drop_list.h"
#include "data/open/split_manifest.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

/// The comparison ignores the spelling of the folder: an accuracy on images that were trained on would be too good.
bool was_trained_on(const RunConfig& run, const std::string& location) {
  const std::string trained = run.data_location();
  return !trained.empty() && data::are_same_locations(trained, location);
}

/// For data that no training divided: takes images on which the network was trained out of the evaluated parts.
void leave_out_trained(const data::RecalledSplit& recalled, const std::string& location, data::OpenedData& opened) {
  std::vector<std::uint32_t> trained = recalled.split.train;
  trained.insert(trained.end(), recalled.were_trained.begin(), recalled.were_trained.end());
  if (trained.empty()) return;
  std::ranges::sort(trained);
  std::size_t judged = 0;
  for (auto* part : {&opened.split.val, &opened.split.test}) {
    judged += std::erase_if(*part, [&](std::uint32_t sample) { return std::ranges::binary_search(trained, sample); });
  }
  opened.notes.push_back(fmt::format(
      "the network was trained on {} of the {} images of '{}'{}", trained.size(), opened.dataset->size(), location,
      judged > 0 ? fmt::format("; the {} of them in a part to validate on or to test with are left out", judged)
                 : ": what is found on these says nothing of new ones"));
}

/// Runs from before there were manifests only know how many images their parts had.
void note_other_counts(const RunConfig& run, const std::string& location, data::OpenedData& opened) {
  const record::DataRecord& then = run.data();
  const data::Split& now = opened.split;
  if (!then.train || !then.val || !then.test) return;
  const auto count = [](const std::vector<std::uint32_t>& part) { return static_cast<std::int64_t>(part.size()); };
  if (count(now.train) == *then.train && count(now.val) == *then.val && count(now.test) == *then.test) return;
  opened.notes.push_back(fmt::format(
      "'{}' has changed since the training, which had {}, {} and {} images to train on, to validate on and to test "
      "with, now {}, {} and {}; the run keeps no list of them, so that the network may have been trained on images of "
      "any part",
      location, *then.train, *then.val, *then.test, now.train.size(), now.val.size(), now.test.size()));
}

/// Images that the training left out are in no part, as a manifest would say.
void leave_out_dropped_by(const RunConfig& run, const std::string& location, data::OpenedData& opened) {
  const std::filesystem::path dropped = run.folder() / data::kDroppedFile;
  if (run.folder().empty() || !std::filesystem::exists(dropped)) return;
  data::DropList list = data::read_drop_list(dropped);
  list.takes_from_test = run.get<bool>("drop-test").value_or(false);
  data::leave_out(list, location, opened);
}

/// Whether data is that of the training: it has the same location, or most of its images are the training's, wherever
/// they lie now.
bool is_known(const data::RecalledSplit& recalled, bool is_named, std::size_t images) {
  const std::size_t found = recalled.found();
  return is_named ? found + recalled.split.changed.size() > 0 : 2 * found > images;
}

/// Gives images that the training knew their parts back.
void recall_parts(const LabelledDataRequest& request, const RunConfig& run, data::OpenedData& opened) {
  const bool is_named = was_trained_on(run, request.location);
  const auto manifest =
      data::SplitManifest::can_know(request.location) ? data::SplitManifest::beside(request.weights) : std::nullopt;
  if (!manifest) {
    if (is_named && request.split.empty()) leave_out_dropped_by(run, request.location, opened);
    if (is_named && request.split.empty()) note_other_counts(run, request.location, opened);
    return;
  }
  data::RecalledSplit recalled = manifest->recall(opened, request.location, request.threads);
  if (!request.split.empty() || !is_known(recalled, is_named, opened.dataset->size())) {
    return leave_out_trained(recalled, request.location, opened);
  }
  opened.came_divided = true;
  if (const std::string changes = recalled.changes(); !changes.empty()) {
    const bool has_new = !recalled.split.added.empty();
    opened.notes.push_back(fmt::format("'{}' has changed since the training: {}{}", request.location, changes,
                                       has_new ? "; new ones are in none of its parts (--part new shows them)" : ""));
  }
  opened.split = std::move(recalled.split);
}

}  // namespace

LabelledDataRequest labelled_request(const PartFlags& flags, const std::string& location,
                                     const task::InferenceModel& network, int threads) {
  return {.location = location,
          .weights = network.weights(),
          .part = *flags.part,
          .split = *flags.split,
          .seed = *flags.seed,
          .strict = *flags.strict,
          .threads = threads};
}

std::string own_data(const RunConfig& run) {
  const std::string location = run.data_location();
  if (location.empty() || location.starts_with("synth:") || data::are_on_disk(location)) return location;
  throw UsageError(
      fmt::format("'{}', the data of the run in '{}', isn't there any more; name the folder that has its images now",
                  location, run.folder().string()));
}

data::OpenedData open_labelled_data(const LabelledDataRequest& request, const data::Preprocessing& steps,
                                    const RunConfig& run) {
  data::DataOptions options;
  options.location = request.location;
  options.width = steps.shape.width;
  options.height = steps.shape.height;
  options.channels = steps.shape.channels;
  options.crop = steps.crop;
  options.crop_fraction = steps.crop_fraction;
  options.filter = steps.filter;
  options.keeps_fitting = steps.keeps_fitting;
  options.threads = request.threads;
  options.strict = request.strict;
  options.seed = static_cast<std::uint64_t>(request.seed.value_or(run.get<std::int64_t>("seed").value_or(1)));
  if (was_trained_on(run, request.location)) {
    options.split = run.get<std::vector<double>>("split").value_or(std::vector<double>());
    options.classes = parse_classes(run.get<std::vector<std::string>>("class").value_or(std::vector<std::string>()));
    options.decode = data::parse_decode_mode(run.get<std::string>("decode").value_or("exact"));
  }
  if (!request.classes.empty()) options.classes = request.classes;
  if (!request.split.empty()) options.split = parse_split(request.split);
  data::OpenedData opened = data::open_data(options);
  recall_parts(request, run, opened);
  return opened;
}

ShownPart shown_part(const data::OpenedData& opened, const LabelledDataRequest& request, const RunConfig& run) {
  ShownPart shown;
  shown.images = indices_of(opened.split, "all").size();
  const std::string held_out = !opened.split.test.empty() ? "test" : !opened.split.val.empty() ? "validation" : "";
  if (request.part == kHeldOut) {
    if (held_out.empty()) {
      throw UsageError(fmt::format(
          "'{}' has no images in a test part, nor in one to validate on; give --split a share for one of them",
          request.location));
    }
    shown.name = held_out;
  } else if (request.part.empty()) {
    const bool is_divided = was_trained_on(run, request.location) || opened.came_divided || !request.split.empty();
    shown.name = is_divided && !held_out.empty() ? held_out : "all";
  } else {
    shown.name = request.part;
  }
  shown.indices = indices_of(opened.split, shown.name);
  if (shown.indices.empty() && shown.name == "new") {
    throw UsageError(fmt::format("no image of '{}' is known to be new since the training", request.location));
  }
  if (shown.indices.empty()) {
    throw UsageError(fmt::format("'{}' has no images in its {} part; take another part, or give --split a share for it",
                                 request.location, shown.name));
  }
  return shown;
}

std::string part_note(const ShownPart& shown, const LabelledDataRequest& request) {
  if (shown.name == "all") return "";
  const bool is_new = shown.name == "new";
  return fmt::format("shown {} of '{}', {} of its {} images{}",
                     is_new ? "are the new images" : fmt::format("is the {} part", shown.name), request.location,
                     shown.indices.size(), shown.images, request.part.empty() ? "; --part all shows all of them" : "");
}

std::vector<std::uint32_t> indices_of(const data::Split& split, const std::string& part) {
  if (part == "train") return split.train;
  if (part == "validation") return split.val;
  if (part == "test") return split.test;
  if (part == "new") return split.added;
  std::vector<std::uint32_t> all;
  for (const auto* some : {&split.train, &split.val, &split.test, &split.added, &split.changed}) {
    all.insert(all.end(), some->begin(), some->end());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace evener::job
