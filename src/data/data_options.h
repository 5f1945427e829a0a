// The options with which data is opened (data/open/open_data.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/each_index.h"
#include "data/preprocess.h"

namespace evener::data {

/// A class given by a pattern: of files, by their paths relative to the folder ("bream", "Bream GT/**"; base/glob.h),
/// or of the names of boxes.
struct ClassFiles {
  std::string name;
  std::string pattern;
};

/// How JPEG files are decoded. Fast: scaled while they are decoded (to the smallest eighth, quarter or half that is at
/// least as large as wanted), colours without smoothing; the pixels differ a little from those of other programs.
enum class DecodeMode : std::uint8_t { kExact, kFast };

/// "exact", "fast".
const char* decode_mode_name(DecodeMode mode);
/// Throws UsageError, naming the nearest.
DecodeMode parse_decode_mode(const std::string& name);

struct DataOptions {
  /// A folder of images, of IDX or of CIFAR files, a packed or a CIFAR file, "synth:masks[:N]", "synth:digits[:N]",
  /// "synth:shapes[:N]". Several folders of classes with " + " between (data/locations.h) are
  /// joined: classes by their names, parts by theirs; a folder without parts is for training where another has some.
  std::string location;
  /// The size of the images; absent = the data's own, for image folders that of the first readable image, upright.
  std::optional<std::int64_t> width, height;
  /// 1 or 3; absent = of the data: for image folders 3 if any of up to 64 images spread over it is in colour.
  std::optional<std::int64_t> channels;
  /// Percent of train, val[, test]; empty = 85/2/13. Divides data that comes undivided. Data with its own test part but
  /// no validation part has its training part divided in the proportion of the first two numbers. Data with its own
  /// validation part can't be divided again: UsageError.
  std::vector<double> split;
  std::uint64_t seed = 1;  // of the split and of synthetic data
  int threads = 1;         // for decoding
  bool strict = false;     // an unreadable image is an error instead of being skipped
  /// For image folders, the files of each class; empty = one class per folder. For data with boxes, the names of boxes
  /// that form each class, where other boxes are left out; empty = one class per name.
  std::vector<ClassFiles> classes;
  DecodeMode decode = DecodeMode::kExact;
  /// How image files are brought to the common shape; see Preprocessing.
  CropMode crop = CropMode::kStretch;
  double crop_fraction = 1;
  ResizeFilter filter = ResizeFilter::kBilinear;
  bool keeps_fitting = false;
  /// Lists and divides the images of a folder without decoding them, for a dry run; unreadable images are not noticed.
  bool look_only = false;
  /// Called before the files of an image folder are decoded, with their number and shape; may throw to prevent it.
  std::function<void(std::size_t, const ImageShape&)> before_decoding = {};
  std::size_t cache_limit_bytes = 0;  // keep decoded images in memory up to this; 0 = half the available memory
  Progress progress;                  // of the decoding, in images; may be empty
  /// Replaces the decoding on `threads` threads with `progress`: has to call `work` with each number below `count`,
  /// from any thread. May be empty.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)> deal = {};
};

}  // namespace evener::data
