// How images are normalised before the first layer: (value / 255 - mean) / standard deviation, channel by channel.
#pragma once

#include <optional>
#include <string>

#include "data/channel_statistics.h"
#include "engine/trainer_options.h"
#include "weights/safetensors.h"

namespace evener::inference {

/// What was asked for with --normalize.
struct NormalizationRule {
  enum class Source {
    kDefault,  // by the weights file's metadata, or where there is none by the statistics of the training images
    kData,     // by the statistics of the training images
    kGiven,
  };
  Source source = Source::kDefault;
  std::string text;               // as it was given
  data::ChannelStatistics given;  // kGiven: one value for all channels, or one for each
};

/// "data", "imagenet", "pixels" (from 0 to 255, as they are), or MEAN/STD: "0.5/0.25",
/// "0.49:0.48:0.45/0.25:0.24:0.26". Throws UsageError.
NormalizationRule parse_normalization(const std::string& text);

/// The given values for `channels` channels. Throws UsageError when there are another number of them.
data::ChannelStatistics for_channels(const NormalizationRule& normalization, std::int64_t channels);

/// The normalisation in a weights file's metadata, "mean" and "standard_deviation". Absent where these are missing or
/// not lists of `channels` usable numbers.
std::optional<data::ChannelStatistics> normalization_of(const weights::Metadata& metadata, std::int64_t channels);

/// Folds the scale and shift that a network applies to its input into the normalisation `given`: the result has the
/// mean' and deviation' for which ((p - mean) / deviation) * scale + shift = (p - mean') / deviation'.
data::ChannelStatistics normalization_before(const engine::PixelScale& scaled, const data::ChannelStatistics& given);

}  // namespace evener::inference
