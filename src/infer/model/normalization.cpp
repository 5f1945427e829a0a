#include "infer/model/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/numbers.h"

namespace evener::inference {
namespace {

using nlohmann::json;

// Mean and standard deviation of the photos of ImageNet, as value / 255. Weights that were trained on it expect them.
const data::ChannelStatistics kImageNet = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};

[[noreturn]] void malformed(const std::string& text) {
  throw UsageError("--normalize '" + text +
                   "' is neither data, imagenet nor pixels, nor MEAN/STD of values from 0 to 1, such as 0.5/0.25, or "
                   "0.49:0.48:0.45/0.25:0.24:0.26 with a number for each channel");
}

/// "0.49:0.48:0.45"
std::vector<float> numbers(const std::string& text, std::string_view part) {
  std::vector<float> values;
  while (true) {
    const std::string_view word = part.substr(0, part.find(':'));
    const auto value = to_number<float>(word);
    if (!value || !std::isfinite(*value)) malformed(text);
    values.push_back(*value);
    if (word.size() == part.size()) return values;
    part.remove_prefix(word.size() + 1);
  }
}

/// Many give mean and deviation of pixels from 0 to 255, which would make nearly equal numbers of all pixels.
void require_unit_scale(const std::string& text, const data::ChannelStatistics& given) {
  const float most = std::ranges::max(given.mean), widest = std::ranges::max(given.standard_deviation);
  if (most <= 1 && widest <= 1) return;
  std::vector<std::string> mean, deviation;
  const auto scaled = [](float value) { return fmt::format("{:.6g}", static_cast<double>(value) / 255); };
  std::ranges::transform(given.mean, std::back_inserter(mean), scaled);
  std::ranges::transform(given.standard_deviation, std::back_inserter(deviation), scaled);
  throw UsageError(fmt::format(
      "--normalize '{}' has {} {}, which is none of values from 0 to 1. Of pixels from 0 to 255 it would be "
      "--normalize {}/{}",
      text, most > 1 ? "the mean" : "the deviation", most > 1 ? most : widest, fmt::join(mean, ":"),
      fmt::join(deviation, ":")));
}

bool usable(const data::ChannelStatistics& statistics) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  const auto is_positive = [](float value) { return std::isfinite(value) && value > 0; };
  return std::ranges::all_of(statistics.mean, is_finite) &&
         std::ranges::all_of(statistics.standard_deviation, is_positive);
}

}  // namespace

NormalizationRule parse_normalization(const std::string& text) {
  using Source = NormalizationRule::Source;
  if (text.empty()) return {};
  if (text == "data") return {Source::kData, text, {}};
  if (text == "imagenet") return {Source::kGiven, text, kImageNet};
  if (text == "pixels") return {Source::kGiven, text, {{0}, {1.0F / 255}}};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) malformed(text);
  const std::string_view view = text;
  NormalizationRule result{
      Source::kGiven, text, {numbers(text, view.substr(0, slash)), numbers(text, view.substr(slash + 1))}};
  if (result.given.mean.size() != result.given.standard_deviation.size() || !usable(result.given)) malformed(text);
  require_unit_scale(text, result.given);
  return result;
}

data::ChannelStatistics for_channels(const NormalizationRule& normalization, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  data::ChannelStatistics result = normalization.given;
  if (result.mean.size() == 1) {
    result.mean.resize(count, result.mean.front());
    result.standard_deviation.resize(count, result.standard_deviation.front());
  }
  if (result.mean.size() == count) return result;
  throw UsageError("--normalize " + normalization.text + " is for " + std::to_string(result.mean.size()) +
                   " channels, but the images have " + std::to_string(channels) + "; use --channels " +
                   (result.mean.size() == 3 ? "3" : "1") + ", or give a number for each channel");
}

std::optional<data::ChannelStatistics> normalization_of(const weights::Metadata& metadata, std::int64_t channels) {
  const auto mean = metadata.find("mean"), deviation = metadata.find("standard_deviation");
  if (mean == metadata.end() || deviation == metadata.end()) return std::nullopt;
  data::ChannelStatistics result;
  try {
    result = {json::parse(mean->second).get<std::vector<float>>(),
              json::parse(deviation->second).get<std::vector<float>>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(channels);
  const bool fits = result.mean.size() == count && result.standard_deviation.size() == count && usable(result);
  return fits ? std::optional(result) : std::nullopt;
}

data::ChannelStatistics normalization_before(const engine::PixelScale& scaled, const data::ChannelStatistics& given) {
  data::ChannelStatistics whole;
  for (std::size_t c = 0; c < scaled.scale.size(); ++c) {
    const float deviation = given.standard_deviation.at(c) / scaled.scale[c];
    whole.standard_deviation.push_back(deviation);
    whole.mean.push_back(given.mean.at(c) - scaled.shift[c] * deviation);
  }
  return whole;
}

}  // namespace evener::inference
