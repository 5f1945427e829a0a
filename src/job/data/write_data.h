// Data written anew: packed into one file, as a folder for other software, or drawn.
#pragma once

#include <cstddef>
#include <filesystem>

#include "data/image_shape.h"
#include "job/data/write_data_flags.h"
#include "job/observer.h"

namespace evener::job {

struct WrittenData {
  std::filesystem::path path;
  std::size_t images = 0;
  data::ImageShape shape;
  std::size_t classes = 0;
  double seconds = 0;
};

/// Decodes all images and writes them, with their boxes where they have some, in the format that was asked for. Files
/// that can't be used are told. Throws UsageError and Error.
WrittenData pack_data(const PackFlags& flags, Observer& observer);

/// Generates images and writes them as PNG files. Throws UsageError and Error.
WrittenData draw_data(const SynthFlags& flags);

}  // namespace evener::job
