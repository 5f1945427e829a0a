// The metadata of a file with a network, by which it can be used without the command that made it: the same in a run's
// weights and in an ONNX file that we wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/channel_statistics.h"
#include "data/preprocess.h"
#include "network/network.h"
#include "network/passes/quantize.h"
#include "weights/safetensors.h"

namespace evener::task {

/// The parsed metadata; fields are absent or empty where the file has no usable value.
struct ModelFacts {
  std::string model;  // "resnet18"
  std::vector<std::string> classes;
  std::optional<network::Shape> input;                   // (C, H, W)
  std::optional<data::ChannelStatistics> normalization;  // of the images that it was trained with
  std::optional<data::CropMode> crop = {};               // how pictures were fitted to the input in training
  bool normalizes_inside = false;                        // an ONNX file that takes pixels from 0 to 255 and normalises
                                                         // them itself
  bool reverses_channels = false;                        // an ONNX file that takes blue, green, red
  bool trained_elsewhere = false;                        // by another program, which showed it the middle of each image
                                                         // (centre crop)
  bool unknown_inside = false;                           // an ONNX file with an output that tells what is unknown
                                                         // (calibration.h)
  network::QuantizationScheme quantization = {};         // empty: the network is as the zoo builds it
};

/// Of an Ultralytics file "names" and "imgsz" are understood, too. "model", "classes", "input", "mean",
/// "standard_deviation", "crop", "normalization" ("inside"), "channel_order" ("bgr"), "trained" ("elsewhere"),
/// "unknown" ("inside") and "quantization"; lists are JSON. Absent facts have no key.
weights::Metadata model_metadata(const ModelFacts& facts);
ModelFacts model_facts(const weights::Metadata& metadata);

/// The names of classes in an Ultralytics file, as Python prints a dictionary or list: those of {0: 'person', 1:
/// "driver's seat"} or ['person', 'car'], by their numbers from 0. Empty for anything else, such as numbers that leave
/// gaps. The text is not trusted.
std::vector<std::string> names_in_python(std::string_view text);

}  // namespace evener::task
