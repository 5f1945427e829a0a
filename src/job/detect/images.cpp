#include "job/detect/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/open/open_data.h"
#include "data/open/picture_survey.h"
#include "data/open/pictures.h"
#include "job/inference/images.h"
#include "job/inference/labelled_data.h"
#include "job/inference/run_config.h"
#include "task/detect/decoders/understand.h"

namespace evener::job {
namespace {

DetectImages owned(std::unique_ptr<task::Photos> photos) {
  DetectImages images;
  images.photos = photos.get();
  images.shown.samples = std::move(photos);
  return images;
}

DetectImages from_pictures(const DetectFlags& flags, const task::InferenceModel& network) {
  const std::vector<std::string> locations = with_lists(*flags.images.images);
  data::Pictures pictures(locations, flags.videos.choice());
  std::vector<data::Skipped> skipped = pictures.skipped();
  std::vector<std::string> notes = pictures.notes();
  std::ranges::move(data::deep_notes(pictures), std::back_inserter(notes));
  DetectImages images = owned(task::photos_of(std::move(pictures), flags.model.preprocessing(network)));
  images.shown.location = fmt::format("{}", fmt::join(locations, " "));
  images.shown.skipped = std::move(skipped);
  images.shown.notes = std::move(notes);
  return images;
}

/// The first few, for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  const std::size_t shown = std::min(kMost, names.size());
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} others", text, names.size() - shown);
}

}  // namespace

std::vector<std::int32_t> label_numbers(const std::vector<std::string>& of_data, const task::InferenceModel& network,
                                        const std::vector<std::string>& known, const std::string& location,
                                        std::vector<std::string>& notes) {
  std::vector<std::int32_t> numbers;
  if (network.classes().empty() && of_data.size() == known.size()) {  // a file without names
    numbers.resize(of_data.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  std::vector<std::string> unknown;
  for (const std::string& name : of_data) {
    auto found = std::ranges::find(known, name);
    // VOC's "aeroplane" is COCO's "airplane".
    if (found == known.end()) found = std::ranges::find(known, task::synonym_of(name));
    if (found == known.end()) unknown.push_back(name);
    numbers.push_back(found == known.end() ? -1 : static_cast<std::int32_t>(found - known.begin()));
  }
  if (unknown.size() == of_data.size()) {
    throw UsageError(fmt::format("{} knows none of the classes of '{}': they are {}, it knows {}", network.name(),
                                 location, some_of(of_data), some_of(known)));
  }
  if (!unknown.empty()) {
    notes.push_back(fmt::format("{} doesn't know {} of '{}' ({}): boxes of it are left out", network.name(),
                                unknown.size() == 1 ? "1 class" : fmt::format("{} classes", unknown.size()), location,
                                some_of(unknown)));
  }
  return numbers;
}

namespace {

DetectImages from_data(const std::string& location, const DetectFlags& flags, const task::InferenceModel& network,
                       const std::vector<std::string>& classes, const RunConfig& run, int threads) {
  const LabelledDataRequest request = labelled_request(flags.images, location, network, threads);
  const data::Preprocessing steps = flags.model.preprocessing(network);
  data::OpenedData opened = open_labelled_data(request, steps, run);
  if (opened.dataset->target_kind() != data::TargetKind::kBoxes) {
    throw UsageError(
        fmt::format("'{}' has a class for each image, and no boxes; name its images without --data to see "
                    "what is found on them",
                    location));
  }
  ShownPart shown = shown_part(opened, request, run);
  std::vector<std::string> notes = std::move(opened.notes);
  std::vector<std::int32_t> numbers = label_numbers(opened.dataset->classes(), network, classes, location, notes);
  std::string told = part_note(shown, request);
  DetectImages images =
      owned(task::photos_of(std::move(opened.dataset), std::move(shown.indices), std::move(numbers), steps));
  images.shown.location = location;
  images.shown.part_note = std::move(told);
  images.shown.part = std::move(shown.name);
  images.shown.labelled = true;
  images.shown.skipped = std::move(opened.skipped);
  images.shown.notes = std::move(notes);
  return images;
}

}  // namespace

DetectImages open_photos(const DetectFlags& flags, const task::InferenceModel& network,
                         const std::vector<std::string>& classes, int threads) {
  if (!flags.images.images->empty()) return from_pictures(flags, network);
  const RunConfig run(network.run());
  std::string location = *flags.images.data;
  if (location.empty()) location = own_data(run);
  if (location.empty()) {
    throw UsageError("name the photos that are looked at, or data with boxes (evener detect --help)");
  }
  return from_data(location, flags, network, classes, run, threads);
}

}  // namespace evener::job
