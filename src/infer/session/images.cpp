#include "infer/session/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/tensor.h"
#include "base/utf8.h"
#include "data/locations.h"
#include "data/open/drop_list.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"
#include "data/open/split_manifest.h"
#include "data/picture_listing.h"
#include "data/sources/source.h"
#include "infer/session/options.h"
#include "options/data_flags.h"
#include "weights/safetensors.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

/// N of "random:N".
std::optional<std::size_t> random_count(const std::string& word) {
  constexpr std::string_view kRandom = "random:";
  if (!word.starts_with(kRandom)) return std::nullopt;
  const auto count = to_number<std::size_t>(word.substr(kRandom.size()));
  if (count.value_or(0) == 0) {
    throw UsageError("'" + word + "' is not random:N with a number of images, as in random:1000");
  }
  return count;
}

bool is_array(const std::string& word) {
  if (word.ends_with(".npy")) return true;
  if (!word.ends_with(".safetensors") || !fs::is_regular_file(word)) return false;
  const weights::Metadata metadata = weights::read_safetensors_metadata(word);
  const auto format = metadata.find("format");
  return format == metadata.end() || format->second != data::kPackFormat;
}

InferImages from_pictures(const std::vector<std::string>& locations, const InferenceFlags& flags,
                          const InferenceModel& network) {
  InferImages images;
  data::Pictures pictures(locations, flags.videos.choice());
  if (*flags.images.strict) pictures.require_all();
  images.skipped = pictures.skipped();
  images.notes = pictures.notes();
  std::ranges::move(data::deep_notes(pictures), std::back_inserter(images.notes));
  images.location = fmt::format("{}", fmt::join(locations, " "));
  const data::Preprocessing steps = flags.model.preprocessing(network);
  images.seen = data::seen_text(steps);
  images.samples = data::picture_samples(std::move(pictures), steps);
  return images;
}

/// (H, W, C), where the network takes (C, H, W).
bool is_channels_last(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& wanted) {
  return shape.size() == 3 && wanted.size() == 3 && shape != wanted && shape[0] == wanted[1] && shape[1] == wanted[2] &&
         shape[2] == wanted[0];
}

InferImages from_array(const std::string& location, const InferenceModel& network) {
  InferImages images;
  images.location = location;
  images.samples = data::array_samples(location);
  if (!network.takes_images()) return images;
  if (is_channels_last(images.samples->shape(), network.input_shape())) {
    images.samples = data::channels_first(std::move(images.samples));
    images.notes.push_back(fmt::format("'{}' has the channels last (N, H, W, C), and is taken so", location));
  }
  if (!images.samples->is_bytes()) {
    images.notes.push_back(fmt::format(
        "'{}' has floats, which {}", location,
        network.takes_floats_as_they_are()
            ? "are given to the network as they are; --normalize makes of values from 0 to 255 what it takes"
            : "are taken for pixels from 0 to 255, and normalised"));
  }
  return images;
}

/// Nothing where the classes have nothing to do with the network's.
std::optional<InferImages> from_data(const std::string& location, const InferenceFlags& flags,
                                     const InferenceModel& network, const RunConfig& run, int threads) {
  const LabelledDataRequest request = labelled_request(flags.images, location, network, threads);
  data::OpenedData opened = open_labelled_data(request, flags.model.preprocessing(network), run);
  const auto numbers = class_numbers(opened.dataset->classes(), network, location);
  if (!numbers) return std::nullopt;
  ShownPart shown = shown_part(opened, request, run);
  InferImages images;
  images.part_note = part_note(shown, request);
  images.part = std::move(shown.name);
  images.labelled = opened.dataset->target_kind() == data::TargetKind::kClasses;
  images.location = location;
  images.skipped = std::move(opened.skipped);
  images.notes = std::move(opened.notes);
  images.seen = data::seen_text(flags.model.preprocessing(network));
  images.samples = data::dataset_samples(std::move(opened.dataset), std::move(shown.indices), *numbers);
  return images;
}

std::vector<std::string> names_on_stdin() {
  std::vector<std::string> names;
  try {
    names = lines_of_list({std::istreambuf_iterator<char>(std::cin), {}}, /*trims=*/false);
  } catch (const Error& error) {
    throw Error(std::string("the list on stdin can't be read: ") + error.what());
  }
  std::erase(names, "");
  return names;
}

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
  opened.notes.push_back(
      fmt::format("'{}' has changed since the training, which had {}, {} and {} images to train on, to validate on and "
                  "to test with, now {}, {} and {}; the run keeps no list of them, so that the network may have been "
                  "trained on images of any part",
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

std::optional<std::vector<std::int32_t>> class_numbers(const std::vector<std::string>& of_data,
                                                       const InferenceModel& network, const std::string& where) {
  const auto& known = network.classes();
  if (known.empty()) {
    const bool fits = network.network() != nullptr &&
                      network.network()->output_shape().front() == static_cast<std::int64_t>(of_data.size());
    if (!fits) return std::nullopt;
    std::vector<std::int32_t> same(of_data.size());
    std::iota(same.begin(), same.end(), 0);
    return same;
  }
  std::vector<std::int32_t> numbers;
  std::vector<std::string> unknown;
  for (const std::string& name : of_data) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) unknown.push_back(name);
    numbers.push_back(static_cast<std::int32_t>(found - known.begin()));
  }
  if (network.names_are_assumed() && unknown.size() == of_data.size() && of_data.size() == known.size()) {
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  if (unknown.size() == of_data.size() || (network.names_are_assumed() && !unknown.empty())) return std::nullopt;
  if (unknown.empty()) return numbers;
  throw UsageError(
      fmt::format("'{}' has images of class {}, which {} doesn't know (it knows {}); leave that folder out, or name "
                  "the images by a pattern such as '{}/**', whose classes are not looked at",
                  where, quoted_text(unknown.front()), network.name(), fmt::join(known, ", "), where));
}

std::vector<std::string> with_lists(const std::vector<std::string>& words) {
  std::vector<std::string> locations;
  const auto append = [&](const std::vector<std::string>& more) {
    locations.insert(locations.end(), more.begin(), more.end());
  };
  for (const std::string& word : words) {
    if (word == "-") {
      append(names_on_stdin());
    } else if (word.ends_with(".txt") && std::filesystem::is_regular_file(word)) {
      append(read_list(word, std::uint64_t{1} << 32, /*trims=*/false));
    } else {
      locations.push_back(word);
    }
  }
  if (locations.empty()) throw UsageError("the list of images is empty");
  return locations;
}

InferImages open_images(const InferenceFlags& flags, const InferenceModel& network, int threads) {
  const RunConfig run(network.run());
  std::vector<std::string> words = *flags.images.images;
  if (words.empty()) {
    const std::string own = own_data(run);
    if (own.empty()) {
      throw UsageError("name what is shown to the network: pictures, folders, data or random:N (evener infer --help)");
    }
    words = {own};
  }
  const auto require_no_part = [&] {
    if (flags.images.part->empty() || flags.images.takes_undivided_whole) return;
    throw UsageError("--part is for data with labels, such as mnist/ or a folder with a sub-folder for each class");
  };
  if (words.size() == 1) {
    if (const auto count = random_count(words.front())) {
      require_no_part();
      const auto& shape = network.input_shape();
      if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) {
        throw UsageError(
            fmt::format("'{}' takes inputs of any size; give an array (.npy) that has the size", network.name()));
      }
      InferImages images;
      images.location = words.front();
      images.are_random = true;
      images.samples = data::random_samples(*count, shape, static_cast<std::uint64_t>(flags.images.seed->value_or(1)));
      return images;
    }
    if (is_array(words.front())) {
      require_no_part();
      return from_array(words.front(), network);
    }
    const bool is_name =
        words.front() != "-" && !words.front().starts_with("synth:") && !data::has_wildcard(words.front());
    if (is_name && !data::are_on_disk(words.front())) {
      throw Error(fmt::format("'{}' doesn't exist; name pictures, folders, data or random:N", words.front()));
    }
    const bool is_list = words.front() == "-" || words.front().ends_with(".txt");
    if (!is_list && !data::names_videos(words.front()) && !data::has_pictures_only(words.front())) {
      if (auto images = from_data(words.front(), flags, network, run, threads)) return std::move(*images);
      if (!fs::is_directory(words.front())) {
        throw UsageError(fmt::format("the classes of '{}' are not those that {} knows", words.front(), network.name()));
      }
      if (!flags.images.part->empty() && !flags.images.takes_undivided_whole) {
        throw UsageError(fmt::format(
            "the folders in '{}' are no classes that {} knows, so it is not divided into parts: leave out --part",
            words.front(), network.name()));
      }
      InferImages images = from_pictures(words, flags, network);
      images.notes.push_back(
          fmt::format("the folders in '{}' are no classes that {} knows: its pictures are taken without labels",
                      words.front(), network.name()));
      return images;
    }
  }
  require_no_part();
  return from_pictures(with_lists(words), flags, network);
}

LabelledDataRequest labelled_request(const PartFlags& flags, const std::string& location, const InferenceModel& network,
                                     int threads) {
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
  options.look_only = request.look_only;
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

}  // namespace evener::inference
