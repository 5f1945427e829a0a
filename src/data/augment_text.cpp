// "flip,crop:4,colour:0.2" to AugmentOptions and back.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "data/augment.h"

namespace evener::data {

namespace {

constexpr const char* kExample = "; for example --augment flip,crop:4,colour:0.2,mixup:0.2";

/// One word of the list: "crop:4" has the name "crop" and the value 4.
struct Word {
  std::string name;
  std::optional<double> value;
};

Word read_word(const std::string& text) {
  const std::size_t colon = text.find(':');
  Word word{text.substr(0, colon), {}};
  if (colon == std::string::npos) return word;
  const std::string value = text.substr(colon + 1);
  word.value = to_number<double>(value);
  if (!word.value) throw UsageError("--augment: '" + value + "' in '" + text + "' is not a number" + kExample);
  return word;
}

/// The value, or `otherwise` without one. Throws UsageError if it is not within (0, most].
double value_of(const Word& word, double otherwise, double most) {
  const double value = word.value.value_or(otherwise);
  if (value > 0 && value <= most) return value;
  char text[96];
  std::snprintf(text, sizeof(text), ":%g has to be more than 0 and at most %g", value, most);
  throw UsageError("--augment " + word.name + text + kExample);
}

void apply(const Word& word, AugmentOptions& options) {
  constexpr double kMostPadding = 1024, kMostAlpha = 4;  // the draw for larger ones would take long
  if (word.name == "flip") {
    if (word.value) throw UsageError(std::string("--augment: flip has no value") + kExample);
    options.flip = true;
  } else if (word.name == "crop") {
    const double padding = value_of(word, 4, kMostPadding);
    options.crop_padding = static_cast<std::int64_t>(padding);
    if (static_cast<double>(options.crop_padding) != padding) {
      throw UsageError(std::string("--augment: the padding of crop is a whole number of pixels") + kExample);
    }
  } else if (word.name == "resized-crop") {
    options.least_area = value_of(word, 0.08, 1);
  } else if (word.name == "colour") {
    options.colour = value_of(word, 0.2, 1);
  } else if (word.name == "mosaic") {
    options.mosaic = value_of(word, 0.5, 1);
  } else if (word.name == "iou-crop") {
    if (word.value) throw UsageError(std::string("--augment: iou-crop has no value") + kExample);
    options.iou_crop = true;
  } else if (word.name == "mixup") {
    options.mixup = value_of(word, 0.2, kMostAlpha);
  } else {
    throw UsageError("--augment: " +
                     unknown_name_message("change of images", word.name,
                                          {"flip", "crop", "resized-crop", "colour", "mixup", "mosaic", "iou-crop"}));
  }
}

}  // namespace

AugmentOptions parse_augment(const std::string& text) {
  AugmentOptions options;
  std::set<std::string> seen;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const Word word = read_word(text.substr(begin, comma - begin));
    apply(word, options);
    if (!seen.insert(word.name).second) throw UsageError("--augment names '" + word.name + "' twice");
    begin = comma + 1;
  }
  return options;
}

std::string augment_text(const AugmentOptions& options) {
  std::string text;
  const auto add = [&text](const char* name, double value) {
    char word[64];
    std::snprintf(word, sizeof(word), "%s%s:%.10g", text.empty() ? "" : ",", name, value);
    text += word;
  };
  if (options.flip) text = "flip";
  if (options.iou_crop) text += text.empty() ? "iou-crop" : ",iou-crop";
  if (options.mosaic > 0) add("mosaic", options.mosaic);
  if (options.crop_padding > 0) add("crop", static_cast<double>(options.crop_padding));
  if (options.least_area > 0) add("resized-crop", options.least_area);
  if (options.colour > 0) add("colour", options.colour);
  if (options.mixup > 0) add("mixup", options.mixup);
  return text;
}

std::string done_on_host(const AugmentOptions& options) {
  std::string names;
  const auto add = [&names](const char* name) { names += (names.empty() ? "" : ", ") + std::string(name); };
  if (options.least_area > 0) add("resized-crop");
  if (options.mosaic > 0) add("mosaic");
  if (options.iou_crop) add("iou-crop");
  return names;
}

}  // namespace evener::data
