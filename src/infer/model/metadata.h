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

namespace evener::inference {

/// The parsed metadata; fields are absent or empty where the file has no usable value.
struct ModelFacts {
  std::string model;                                     // "resnet18"
  std::vector<std::string> classes;                      // "": a number between others that has no name
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
  std::string unread_names = {};                         // what stands there of classes and can't be read
};

/// Of other programs' files "names", "class_names", "labels", "id2label" and "imgsz" are understood, too. "model",
/// "classes", "input", "mean", "standard_deviation", "crop", "normalization" ("inside"), "channel_order" ("bgr"),
/// "trained" ("elsewhere"), "unknown" ("inside") and "quantization"; lists are JSON. Absent facts have no key.
weights::Metadata model_metadata(const ModelFacts& facts);
ModelFacts model_facts(const weights::Metadata& metadata);

/// The names of classes in another program's metadata, by their numbers: a map or a list as Python, JSON or YAML prints
/// it, lines, or names between commas. "" for numbers between others that have no name; empty for anything else. The
/// text is not trusted.
std::vector<std::string> names_in_text(std::string_view text);

/// The names of a network's `count` classes: where there are as many names, in the order of their numbers, whatever
/// these are (from 1, or COCO's with its gaps); or else by number, those without a name as "class 7". Empty where there
/// are more or fewer.
std::vector<std::string> names_of_classes(std::vector<std::string> names, std::size_t count);

}  // namespace evener::inference
