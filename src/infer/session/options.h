// Options of commands that run a trained network on images: which network, which images, and the placement.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/preprocess.h"
#include "infer/run/infer.h"
#include "measure/run/observer.h"
#include "options/data_flags.h"
#include "options/option.h"
#include "options/placement_values.h"
#include "placement/plan.h"
#include "record/record.h"

namespace evener::inference {

// The options of the training that made a network, from its record, and the location of its data.

class RunConfig {
 public:
  /// Reads the record in `run`, the folder of the training. Nothing is known where `run` is empty or has no record.
  explicit RunConfig(const std::filesystem::path& run);

  /// The value of an option by its key in records. Absent where the record lacks it or has another type.
  template <class T>
  std::optional<T> get(const std::string& key) const {
    const auto found = config_.find(key);
    if (found == config_.end()) return std::nullopt;
    const auto value = nlohmann::json::parse(found->second, nullptr, false);
    try {
      return value.is_discarded() || value.is_null() ? std::nullopt : std::optional(value.get<T>());
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }

  /// The location of the run's data: as the user named it, or its absolute path where the name means nothing, or
  /// something else, in this working folder. Empty = not known.
  std::string data_location() const;

  /// The folder of the run; empty = none.
  const std::filesystem::path& folder() const { return folder_; }
  /// How many images each part of the training's data had.
  const record::DataRecord& data() const { return data_; }

 private:
  std::filesystem::path folder_;
  record::DataRecord data_;
  std::map<std::string, std::string> config_;
};

/// Adds the absolute path of `data`, where it is on disk, to a record's config, by which RunConfig::data_location()
/// finds it again.
void add_data_path(const std::string& data, nlohmann::json& config);

/// A trained network, and how images are fitted to its input.
struct TrainedModelFlags : OptionGroup {
  /// `named`, `of_weights`: what --help says of MODEL and --weights.
  TrainedModelFlags(OptionWords named, std::string of_weights)
      : OptionGroup("Network"),
        model(*this, std::move(named), "", {.required = true}),
        weights(*this, {"--weights", "FILE", std::move(of_weights)}) {}

  Option<std::string> model;
  Option<std::string> weights;
  Option<std::string> labels{*this, "--labels FILE", "Text file with the name of a class on each line"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT", "Size the network sees (default: as it was trained)"};
  Option<std::string> normalize{*this, "--normalize RULE",
                                "Mean and deviation of images: imagenet, MEAN/STD of values from 0 to 1, such as "
                                "0.5/0.5, or pixels: 0 to 255 as they are (default: as the file says)"};
  Option<std::string> crop{
      *this, "--crop NAME", suggesting({"stretch", "letterbox", "centre", "yolo", "yolox", "insightface"}),
      "Pictures of another size: stretch, letterbox (black beside them), centre (their middle), or as a family of "
      "detectors has it: yolo (grey beside them), yolox (in the upper left corner, on grey), insightface (there, on "
      "black) (default: as the network was trained; otherwise centre, and those of its size whole)"};
  Option<std::string> interpolation{
      *this, "--interpolation NAME", "bilinear",
      "nearest, bilinear, bicubic or lanczos, antialiased; or opencv: bilinear, not antialiased (default: bilinear, or "
      "as --crop has it)"};
  Option<std::string> layout{*this, "--layout NAME", "auto", one_of({"auto", "nchw", "nhwc"}),
                             "Of a file's input: auto, nchw or nhwc"};
  Option<std::string> channel_order{
      *this, "--channel-order NAME", one_of({"", "rgb", "bgr"}),
      "That a file's network takes: rgb or bgr (default: rgb, or as is usual for a detector's family)"};
  Option<std::string> decoder{
      *this, "--decoder NAME",
      "Of a detector's file (.onnx, .xml, .tflite), how its outputs are read: yolov5, yolov6, yolov8, yolox, rows, "
      "lists, torchvision, detr, boxes-and-scores or faces (default: as its outputs look)"};

  /// How pictures are brought to the network's input shape. Throws UsageError.
  data::Preprocessing preprocessing(const InferenceModel& network) const;

 protected:
  /// A file is taken for a detector where it surely is one. Throws UsageError.
  InferenceRequest request_of_all() const;
  void check_together() const override;
};

/// Options about the network, of commands that may be shown any.
struct InferModelFlags : TrainedModelFlags {
  InferModelFlags();

  Option<std::optional<std::int64_t>> classes{*this, "--classes N", within(from_to(1, 16777216)),
                                              "Number of classes (default: as the weights have)"};
  Option<std::optional<std::int64_t>> channels{*this, "--channels N", within(from_to(1, 4096)),
                                               "1 grey, 3 colour (default: as it was trained)"};
  Option<std::optional<double>> crop_fraction{*this, "--crop-fraction SHARE", within(from_to(0.01, 1)),
                                              "Of the shorter side that centre takes (default: 0.875)"};
  Option<std::string> output_name{
      *this, "--output-name NAME",
      "The output that tells classes (default: the one with as many values as there are names, or the first row)"};

  Option<bool> uncalibrated{*this, "--uncalibrated",
                            "Probabilities as the network gives them, and nothing is called unknown"};

  std::filesystem::path sidecar;  // the .toml file beside the network's from which options were taken; empty = none

  /// `features`: see InferenceRequest. Throws UsageError.
  InferenceRequest request(bool features, std::uint64_t seed) const;
  /// See TrainedModelFlags::preprocessing().
  data::Preprocessing preprocessing(const InferenceModel& network) const;

 private:
  void check_together() const override;
};

/// Options about the part of the data that is shown, and about images that can't be read.
struct PartFlags : OptionGroup {
  PartFlags() : OptionGroup("Images") {}

  Option<std::string> part{*this, "--part NAME", one_of({"", "train", "validation", "test", "new", "all"}),
                           "Of data: train, validation, test, new (images that came after the training) or all "
                           "(default: of divided data the test part, or without one the validation part; else all)"};
  Option<std::string> split{*this, "--split TRAIN/VALIDATION/TEST",
                            "Percent, of data that comes undivided (default: as the run's)"};
  Option<std::optional<std::int64_t>> seed{*this, "--seed N", within(zero_or_more()),
                                           "Of the split (default: the run's)"};
  Option<bool> strict{*this, "--strict", rules().not_recorded(),
                      "An unreadable image is an error instead of being left out"};
};

/// The images for the network.
struct ImagesFlags : PartFlags {
  Option<std::vector<std::string>> images{
      *this, "IMAGES WHAT",
      "Pictures: files, folders, patterns, lists (.txt), or - for a list on stdin; videos, a camera (/dev/video0); "
      "data as train takes it; arrays (.npy, .safetensors); or random:N (default: what the run's own data has to test "
      "on)"};
  Option<bool> random_weights{*this, "--random",
                              "Show pictures to a network without weights: what it says means nothing"};

  bool takes_undivided_whole = false;  // undivided data is taken whole whatever `part` says, because the command and
                                       // not the user set `part`
};

/// Where and how the network computes.
struct InferPlacementFlags : OptionGroup {
  InferPlacementFlags() : OptionGroup("Placement") {}

  Option<std::string> on{*this, "--on PLACEMENT", "cpu",
                         "cpu (all cores), cpu/t1, 2xcpu/t1, cpu/t1..cpu/t1, cuda:0+cpu, ... (docs/placements.md)"};
  Option<bool> oversubscribe{*this, "--oversubscribe", "Take all replicas of \"16x\", also more than the CPUs"};
  Option<std::string> precision{*this, "--precision NAME", "fp32",
                                "auto (bf16 where the processor is fast at it), fp32, bf16 or fp16"};
  Option<std::string> engine{*this, "--engine NAME", "auto", one_of({"auto", "openvino", "torch"}),
                             "auto, openvino or torch"};
  Option<std::optional<std::int64_t>> batch{*this, "--batch IMAGES", within(from_to(1, 65536)).called({"--batch-size"}),
                                            "Images of each call (default: 8, or what a file is fixed to)"};
  Option<std::optional<int>> streams{
      *this, "--streams N", within(from_to(1, 1024)),
      "Calls that a CPU replica computes side by side (default: one for each thread; 1 answers each image soonest)"};
  Option<std::string> cut = cut_option(*this);
  Option<double> memory{*this, "--memory MB", 0, within(zero_or_more()),
                        "Emulate devices with so much memory: a network that takes more for its weights and values is "
                        "refused, and may be divided into stages (default: what there is)"};
  Option<std::optional<int>> reading_threads{*this, "--reading-threads N", within(from_to(1, 1024)),
                                             "Threads that read and decode images (default: one for each CPU)"};

  /// Throws UsageError.
  placement::Plan plan() const;
  Precision precision_on(const placement::Plan& plan) const;
  /// The options of the inference on `plan`, which plan() returned.
  InferOptions infer_options(const placement::Plan& plan, Precision precision) const;
};

/// The options about network, images and placement together.
struct InferenceFlags {
  InferModelFlags model;
  ImagesFlags images;
  VideoFlags videos;
  InferPlacementFlags placement;
};

// A .toml file beside the file of a network that says how it takes its images, as options of `evener infer`.
//   model.onnx      model.toml:   size = "224x224"    crop = "centre"    normalize = "0.5/0.5"    labels = "names.txt"

/// Sets options of `flags` that were not given from the .toml file with the name of the network's file (MODEL, or else
/// --weights), if there is one. Paths in it are relative to its folder. Throws UsageError naming file, line and key.
void take_sidecar(InferModelFlags& flags);

/// Sets --weights to the file that a name or a run stands for (take_weights()), and then options that were not given
/// from the .toml file beside the network's (take_sidecar()). `observer`: of a download; null: nothing is to be done
/// yet. Throws UsageError and Error.
void complete(InferModelFlags& flags, measure::Observer* observer);

}  // namespace evener::inference
