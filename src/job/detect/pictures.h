// Files for each photo that `evener detect` has looked at: with boxes drawn, what was cut out, labels for others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/detect/box_sink.h"
#include "job/detect/detect_flags.h"
#include "record/detection.h"
#include "task/detect/draw.h"
#include "task/detect/lettering.h"

namespace evener::job {

/// The page of the pictures that --save writes into `folder`.
std::filesystem::path pictures_index(const std::filesystem::path& folder);

/// Of the boxes found on a photo, the likeliest first, those to draw that are so likely: the likeliest last and so on
/// top.
std::vector<task::DrawnBox> boxes_to_draw(const task::FoundBoxes& found, float least,
                                          const std::vector<std::string>& classes);

/// Writes what the options ask for: pictures/ with a page (--save), labels/ (--format yolo), annotations/ (--format
/// voc) in `folder`, and crops, a folder for each class, in that of --crops; of boxes those that the writer shows. A
/// photo that can't be read any more, or has no room in a JPEG file, is told of in what is returned. Throws Error where
/// a file can't be written, Interrupted after a stop request.
std::vector<data::Skipped> write_photo_files(const DetectOutputFlags& flags, const std::filesystem::path& folder,
                                             const BoxSink& writer, const task::Photos& photos,
                                             const std::vector<std::string>& classes, const task::Lettering& lettering,
                                             int threads);

/// The photos with the most mistakes: what was missed dashed, wrong boxes and right ones with their labels.
std::vector<record::MissedImage> worst_misses(const BoxSink& writer, const task::Photos& photos,
                                              const std::vector<std::string>& classes, const task::Lettering& lettering,
                                              int threads);

}  // namespace evener::job
