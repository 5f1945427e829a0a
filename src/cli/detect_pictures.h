// Files for each photo that `evener detect` has looked at: with boxes drawn, what was cut out, labels for others.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/detect_writer.h"
#include "cli/options/detect_flags.h"
#include "report/detection.h"

namespace evener::cli {

/// Writes what the options ask for: pictures/ (--save), labels/ (--format yolo), annotations/ (--format voc) in
/// `folder`, and crops, a folder for each class, in that of --crops. Labels are the boxes that are at least as likely
/// as `least_to_label`. A photo that can't be read any more, or has no room in a JPEG file, is told of in what is
/// returned. Throws Error where a file can't be written, Interrupted after a stop request.
std::vector<data::Skipped> write_photo_files(const DetectOutputFlags& flags, const std::filesystem::path& folder,
                                             const DetectionWriter& writer, float least_to_label,
                                             const task::Photos& photos, const std::vector<std::string>& classes,
                                             int threads);

/// The photos with the most mistakes: what was missed dashed, wrong boxes and right ones with their labels.
std::vector<report::MissedImage> worst_misses(const DetectionWriter& writer, const task::Photos& photos,
                                              const std::vector<std::string>& classes, int threads);

}  // namespace evener::cli
