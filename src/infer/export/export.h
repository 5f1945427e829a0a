// Exports a trained network for other software: writes it as an ONNX file, runs that file, and compares the outputs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "infer/model/fitted_calibration.h"
#include "infer/model/trained_model.h"
#include "network/network.h"

namespace evener::inference {

struct ExportOptions {
  std::filesystem::path onnx;                            // the file to write
  std::optional<data::ChannelStatistics> normalization;  // of the images; absent = not known, and not written into the
                                                         // file
  const ClassifierCalibration* calibration = nullptr;    // what is unknown becomes an output; its temperature is in the
                                                         // weights already (fold_temperature)
  bool normalize_inside = false;  // the file takes pixels from 0 to 255 and normalises them itself
};

/// Throws Error where an export is bound to fail, before the weights are read: the module is missing, or the folder
/// can't be written to.
void require_export(const std::filesystem::path& onnx);

/// Writes the file with its metadata (model_metadata). Throws Error, and UsageError where the file is to normalise
/// images itself and the normalisation isn't known.
void write_export(const TrainedModel& model, const ExportOptions& options);

/// How outputs differ on some images: one engine runs the network, another runs the file.
struct ExportCheck {
  std::size_t images = 0, same_class = 0;  // `same_class`: of how many the largest value of each output has its place
  double largest_difference = 0;           // between two corresponding values
  double largest_output = 0;               // the largest absolute value of the outputs
  double median_difference = 0;            // of the images' largest ones, each as a share of the image's largest output
};

/// Why the file can't be checked here, such as a missing module of an engine; "" = it can.
std::string export_check_refusal();
/// Runs the file that write_export wrote on some of the images, or where these are null on made-up ones, and compares
/// its outputs. Throws Error where they differ by more than rounding, of which quantised values make steps now and
/// then: there most images count, and of images that the network was made for their classes.
ExportCheck check_export(const TrainedModel& model, const ExportOptions& options,
                         const data::Samples* images = nullptr);

}  // namespace evener::inference
