#include "job/infer/labelled_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/locations.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

/// However the folder is spelt: scores on what was trained on would look too good.
bool was_trained_on(const RunConfig& run, const std::string& location) {
  const std::string trained = run.data_location();
  return !trained.empty() && data::are_same_locations(trained, location);
}

}  // namespace

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
  if (!request.split.empty()) options.split = parse_split(request.split);
  return data::open_data(options);
}

ShownPart shown_part(const data::OpenedData& opened, const LabelledDataRequest& request, const RunConfig& run) {
  ShownPart shown;
  shown.images = opened.split.train.size() + opened.split.val.size() + opened.split.test.size();
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
  if (shown.indices.empty()) {
    throw UsageError(fmt::format("'{}' has no images in its {} part; take another part, or give --split a share for it",
                                 request.location, shown.name));
  }
  return shown;
}

std::string part_note(const ShownPart& shown, const std::string& location) {
  if (shown.name == "all") return "";
  return fmt::format("shown is the {} part of '{}', {} of its {} images; --part all shows all of them", shown.name,
                     location, shown.indices.size(), shown.images);
}

std::vector<std::uint32_t> indices_of(const data::Split& split, const std::string& part) {
  if (part == "train") return split.train;
  if (part == "validation") return split.val;
  if (part == "test") return split.test;
  std::vector<std::uint32_t> all;
  for (const auto* some : {&split.train, &split.val, &split.test}) all.insert(all.end(), some->begin(), some->end());
  std::ranges::sort(all);
  return all;
}

}  // namespace evener::job
