// Hands a trained network to other software: writes it as a file, runs that file, and compares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/channel_statistics.h"
#include "network/network.h"
#include "task/inference/trained_model.h"

namespace evener::task {

struct ExportOptions {
  std::filesystem::path onnx;                            // the file to write
  std::optional<data::ChannelStatistics> normalization;  // of the images; absent = not known, and the file tells none
  bool normalize_inside = false;  // the file takes pixels from 0 to 255 and normalises them itself
};

/// Everything that stands against it and can be known before the weights are read: the module is missing, the folder
/// can't be written to. Throws Error.
void require_export(const std::filesystem::path& onnx);

/// Writes the file with what it has to say of itself (model_metadata). Throws Error, and UsageError where images are to
/// be normalised inside and nothing tells how.
void write_export(const TrainedModel& model, const ExportOptions& options);

/// How far two engines are apart on random images: ours on the network, another on the file.
struct ExportCheck {
  double largest_difference = 0;  // of any two values of the outputs
  double largest_output = 0;      // as an absolute value
};

/// Why the file can't be run here ("" = it can): an engine's module is missing.
std::string export_check_refusal();
/// Runs what write_export wrote. Throws Error where the difference is more than rounding.
ExportCheck check_export(const TrainedModel& model, const ExportOptions& options);

}  // namespace evener::task
