// What a network of the zoo, a run or a file is: layers, shapes, parameters, FLOPs, memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "options/description.h"
#include "options/model_names.h"
#include "options/option.h"
#include "weights/safetensors.h"

namespace evener::app {

struct InfoFlags : OptionGroup {
  InfoFlags() : OptionGroup("Network") {}

  Option<std::string> model{
      *this, "MODEL NAME|PATH", suggesting(model_names()).needed(),
      "The network, e.g. resnet34 or mlp:784-256-10; or a run's folder, or a file of weights or of a network"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT", "Image size in pixels (default: the model's own)"};
  Option<std::optional<std::int64_t>> channels{*this, "--channels N", within(from_to(1, 4096)),
                                               "Image channels: 1 grey, 3 RGB"};
  Option<std::optional<std::int64_t>> classes{*this, "--classes N", within(from_to(1, 16777216)), "Number of classes"};
  Option<std::optional<std::int64_t>> batch{
      *this, "--batch N", within(from_to(1, 16777216)),
      "Images per step of the training whose memory is estimated (default: as train's)"};
  Option<std::string> json{*this, "--json FILE", "Write JSON to FILE ('-': to stdout, instead of the table)"};

  OptionSet options() { return {this}; }
};

/// Throws UsageError for options that don't go together, Error for what can't be read.
Description describe(const InfoFlags& flags);

/// A line of text about a file: what it is, in a column of its own, and its value.
std::string info_row(const char* what, const std::string& value);

/// The file's tensors, and the networks of the zoo that they fit.
Description tensors_info(const std::filesystem::path& path, const weights::SafetensorsFile& file);

}  // namespace evener::app
