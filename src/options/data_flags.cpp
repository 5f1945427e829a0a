#include "options/data_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "data/locations.h"

namespace evener {
namespace {

constexpr const char* kLocationHelp =
    "Image folder, images with boxes (VOC, COCO, YOLO), folder of IDX or CIFAR files, packed file (.safetensors), "
    "synth:masks[:N], synth:digits[:N] or synth:shapes[:N]";
constexpr const char* kSeveralHelp = "; given several times, folders of classes are joined";

/// -1 for what is not a number.
double percent(const std::string& text) {
  const double value = to_number<double>(text).value_or(-1);
  return std::isfinite(value) ? value : -1;
}

constexpr std::int64_t kMaxPixels = 65536;  // a side

// 0 if `text` isn't a whole number from 1 to kMaxPixels.
std::int64_t side(std::string_view text) {
  const auto value = to_number<std::int64_t>(text).value_or(0);
  return value >= 1 && value <= kMaxPixels ? value : 0;
}

}  // namespace

std::vector<data::ClassFiles> parse_classes(const std::vector<std::string>& words) {
  std::vector<data::ClassFiles> classes;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size()) {
      throw UsageError("--class '" + word + "' is not NAME=GLOB, as in --class bream='Bream GT/**'");
    }
    classes.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return classes;
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
  if (!good || parts.size() < 2 || parts.size() > 3 || sum <= 0 || sum > 100 + 1e-9) {
    throw UsageError("--split '" + text +
                     "' is not TRAIN/VALIDATION[/TEST] in percent with a sum of at most 100, such as 85/2/13");
  }
  return parts;
}

void set_size(const std::string& text, data::DataOptions& options) {
  if (text.empty()) return;
  const ImageSize asked = parse_image_size(text);
  options.width = asked.width;
  options.height = asked.height;
}

SourceFlags::SourceFlags(const std::string& name)
    : OptionGroup("Data"),
      location(*this, {name, "DATA", kLocationHelp}, "",
               {.required = true, .stays = {"data", true}, .joint = data::kLocationJoint}) {
  split.record_as([this](nlohmann::json& value) {
    if (!split->empty()) value = parse_split(*split);
  });
}

data::DataOptions SourceFlags::data_options() const {
  data::DataOptions options;
  options.location = *location;
  set_size(*size, options);
  options.channels = *channels;
  if (!split->empty()) options.split = parse_split(*split);
  options.seed = *seed;
  options.strict = *strict;
  options.classes = parse_classes(*classes);
  options.decode = data::parse_decode_mode(*decode);
  options.crop = data::parse_crop_mode(*crop);
  return options;
}

DataFlags::DataFlags() : SourceFlags("--data") {
  location.explain(std::string(kLocationHelp) + kSeveralHelp);
  seed.explain("Of the split, the first weights and the order");
  const auto standard_spelling = [this](nlohmann::json& value) { value = data::augment_text(augment_options()); };
  augment.record_as(standard_spelling);
  augment.stay_as([this, standard_spelling](nlohmann::json& value) {
    if (augment_options().any()) standard_spelling(value);
  });
  // What the file says, as it may be changed or move.
  drop.stay_as([this](nlohmann::json& value) {
    if (const auto list = drop_list())
      value = fmt::format("{}, {:016x}", counted(list->names.size(), "name"), list->hash());
  });
}

std::optional<data::DropList> DataFlags::drop_list() const {
  if (drop->empty()) return std::nullopt;
  data::DropList list = data::read_drop_list(*drop);
  list.takes_from_test = *drop_test;
  return list;
}

void DataFlags::check_together() const {
  if (*drop_test && drop->empty()) {
    throw UsageError("--drop-test says from where the images of --drop FILE are left out: give both");
  }
}

ImageSize parse_image_size(const std::string& text) {
  const std::size_t cross = text.find_first_of("xX");
  const std::string_view whole(text);
  ImageSize size;
  size.width = side(whole.substr(0, cross));
  size.height = cross == std::string::npos ? size.width : side(whole.substr(cross + 1));
  if (size.width == 0 || size.height == 0) {
    throw UsageError("--size '" + text +
                     "' is not a size: write width x height in pixels (1 to 65536), for example 197x148");
  }
  return size;
}

ImageSize scaled_size(const data::ImageShape& image, std::int64_t side, std::int64_t step) {
  const std::int64_t longer = std::max(image.width, image.height);
  const double scale = std::min(1.0, static_cast<double>(side) / static_cast<double>(longer));
  const auto scaled = [&](std::int64_t pixels) {
    const double exact = scale * static_cast<double>(pixels) / static_cast<double>(step);
    return std::max<std::int64_t>(step, std::llround(exact) * step);
  };
  return {scaled(image.width), scaled(image.height)};
}

}  // namespace evener
