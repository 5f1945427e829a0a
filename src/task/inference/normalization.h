// How images are normalised before the first layer: (value / 255 - mean) / standard deviation, channel by channel.
#pragma once

#include <optional>
#include <string>

#include "data/channel_statistics.h"
#include "engine/pixel_scale.h"
#include "weights/safetensors.h"

namespace evener::task {

/// What was asked for with --normalize.
struct NormalizationRule {
  enum class Source {
    kDefault,  // as the weights' file says, if there is one that does; otherwise of the training images
    kData,     // of the training images
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

/// What a file of weights says of itself: its metadata "mean" and "standard_deviation". Nothing where it says nothing
/// or something else than lists of `channels` usable numbers.
std::optional<data::ChannelStatistics> normalization_of(const weights::Metadata& metadata, std::int64_t channels);

/// What a network that scales its input was given normalised so that the scaled values come out of the result:
/// ((p - mean) / deviation) * scale + shift = (p - mean') / deviation'.
data::ChannelStatistics normalization_before(const engine::PixelScale& scaled, const data::ChannelStatistics& given);

}  // namespace evener::task
