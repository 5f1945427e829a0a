// Writes videos again with the boxes that were found on their frames.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/skipped.h"
#include "job/detect/box_sink.h"
#include "job/observer.h"
#include "task/detect/draw.h"

namespace evener::job {

/// Writes a video for each one that was looked at into `folder`/pictures: the frames that were looked at with their
/// boxes, at their own times and size, without sound, as CLIP.mp4. Frames that can't be read any more are added to
/// `lost`. Returns the files. Throws Error where one can't be written, Interrupted after a stop request; then nothing
/// of that video stays.
std::vector<std::filesystem::path> write_marked_videos(const std::filesystem::path& folder, const BoxSink& writer,
                                                       const task::Photos& photos,
                                                       const std::vector<std::string>& classes,
                                                       const task::Lettering& lettering, Observer& line,
                                                       std::vector<data::Skipped>& lost);

}  // namespace evener::job
