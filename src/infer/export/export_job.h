// `evener export`: writes a trained network as an ONNX file, for other software.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/this_work.h"
#include "infer/export/export.h"
#include "infer/model/trained_model.h"
#include "measure/run/observer.h"
#include "options/option.h"

namespace evener::inference {

struct ExportFlags : OptionGroup {
  ExportFlags() : OptionGroup("Export") {}

  Option<std::string> model{
      *this, "MODEL MODEL", rules().needed(),
      "A run's folder (its best weights), a .safetensors file of one, or a network such as resnet18"};
  Option<std::string> onnx{*this, "--onnx FILE.onnx", rules().needed(), "File to write"};
  Option<std::string> weights{*this, "--weights FILE",
                              "Weights of a network: safetensors, a state dict saved by PyTorch, a run, or imagenet"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT", "Image size in pixels (default: as it was trained)"};
  Option<std::optional<std::int64_t>> channels{*this, "--channels N", within(from_to(1, 4096)),
                                               "Image channels (default: as it was trained)"};
  Option<std::optional<std::int64_t>> classes{*this, "--classes N", within(from_to(1, 16777216)),
                                              "Number of classes (default: as the weights have)"};
  Option<std::string> normalize{*this, "--normalize RULE",
                                "Mean and deviation of images: imagenet, MEAN/STD such as 0.5/0.25, or pixels "
                                "(default: as the weights' file says)"};
  Option<bool> normalize_inside{
      *this, "--normalize-inside",
      "The file takes pixels from 0 to 255 and normalises them itself (otherwise it takes normalised ones)"};
  Option<bool> uncalibrated{
      *this, "--uncalibrated",
      "Leave out the temperature of its probabilities, and the output that tells what is unknown"};
  Option<bool> overwrite{*this, "--overwrite", "Replace the file if it exists"};

  OptionSet options() { return {this}; }
  /// The network that the options name.
  ModelRequest request() const;

 private:
  void check_together() const override;
};

/// Sets --weights to the file that a name or a run stands for (take_weights()).
void complete(ExportFlags& flags, measure::Observer* observer);

/// Writes the file and, where OpenVINO can be used, runs it and compares its outputs with the network's. Notes the file
/// as soon as it is written. Throws UsageError, Error and Interrupted, and leaves either the whole file or none.
/// `stop`: ends it as a signal does; null: signals alone.
void export_network(const ExportFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::inference
