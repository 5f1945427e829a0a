// Writes files for each photo that `evener detect` has looked at: the photo with boxes drawn, cut-out objects, and
// label files for other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "detect/box_sink.h"
#include "detect/drawing/draw.h"
#include "detect/options.h"
#include "record/detection.h"

namespace evener::detection {

/// The HTML page that --save writes into `folder`, with all pictures.
std::filesystem::path pictures_index(const std::filesystem::path& folder);

/// The boxes with a score of at least `least` as boxes to draw, the likeliest last and so on top. `found` has the
/// likeliest first.
std::vector<DrawnBox> boxes_to_draw(const FoundBoxes& found, float least, const std::vector<std::string>& classes);

/// Writes what the options ask for: pictures/ with a page (--save; frames of videos see write_marked_videos()), labels/
/// (--format yolo), annotations/ (--format voc) in `folder`, and crops, a folder for each class, in that of --crops;
/// with the boxes of at least `writer.shown_confidence()`. Returns the photos that can't be read any more, or are too
/// large for a JPEG file. Throws Error where a file can't be written, Interrupted after a stop request.
std::vector<data::Skipped> write_photo_files(const DetectOutputFlags& flags, const std::filesystem::path& folder,
                                             const BoxSink& writer, const Photos& photos,
                                             const std::vector<std::string>& classes, const Lettering& lettering,
                                             int threads);

/// The photos with the most mistakes, with boxes drawn: missed objects dashed, wrong and right boxes with their labels.
std::vector<record::MissedImage> worst_misses(const BoxSink& writer, const Photos& photos,
                                              const std::vector<std::string>& classes, const Lettering& lettering,
                                              int threads);

}  // namespace evener::detection
