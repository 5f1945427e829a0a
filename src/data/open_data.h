// From what a user names as data to a dataset that is divided and ready to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/channel_statistics.h"
#include "data/dataset.h"
#include "data/each_index.h"
#include "data/preprocess.h"
#include "data/skipped.h"
#include "data/split.h"

namespace evener::data {

/// Files of a folder that form a class, by their paths relative to it ("bream", "Bream GT/**"; base/glob.h); or the
/// names of boxes that do.
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
  /// "synth:shapes[:N]". Several folders of classes with " + " between (data/locations.h) are joined: classes by their
  /// names, parts by theirs; a folder without parts is for training where another has some.
  std::string location;
  /// Absent = of the data: for image folders the first readable image's size, upright.
  std::optional<std::int64_t> width, height;
  /// 1 or 3; absent = of the data: for image folders 3 if any of up to 64 images spread over it is in colour.
  std::optional<std::int64_t> channels;
  /// Percent of train, val[, test]; empty = 85/2/13. Divides data that comes undivided. Data with its own test part but
  /// no validation part has its training part divided in the proportion of the first two numbers. Data with its own
  /// validation part can't be divided again: UsageError.
  std::vector<double> split;
  std::uint64_t seed = 1;  // of the split and of synthetic data
  int threads = 1;         // for decoding
  bool strict = false;     // a bad image is an error, not skipped
  /// Of image folders: the files of each class; empty = one folder per class. Of data with boxes: the names of boxes
  /// that form each class, others are left out; empty = one class per name.
  std::vector<ClassFiles> classes;
  DecodeMode decode = DecodeMode::kExact;
  /// How image files are brought to the common shape; see Preprocessing.
  CropMode crop = CropMode::kSquash;
  double crop_fraction = 1;
  ResizeFilter filter = ResizeFilter::kBilinear;
  bool keeps_fitting = false;
  /// Lists and divides the images of a folder without decoding them: for a look at what is there. Bad ones are not
  /// known then.
  bool look_only = false;
  /// Is told the number and shape of an image folder's files before they are decoded; may throw.
  std::function<void(std::size_t, const ImageShape&)> before_decoding = {};
  std::size_t cache_limit_bytes = 0;  // keep decoded images in memory up to this; 0 = half the available memory
  Progress progress;                  // of the decoding, in images; may be empty
  /// Has the decoding of image files done in another way than on `threads` threads with `progress`: calls `work` with
  /// each number below `count`, from any thread. May be empty.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)> deal = {};
};

struct OpenedData {
  std::string kind;  // "image folder", "IDX files", "synthetic", for people
  std::shared_ptr<const Dataset> dataset;
  bool came_divided = false;  // the data has parts of its own
  Split split;                // parts may be empty, also train: a folder with test/ alone is fine for inference
  std::optional<ChannelStatistics> statistics;  // of split.train, where the data has them stored
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;  // what a user should know: classes with one image, images outside of classes
};

/// Finds out what `location` is, reads and decodes it in parallel (phases "read" and "decode"). Decoded images stay in
/// memory as far as they fit; the others are decoded again whenever they are read. Throws Error when nothing usable is
/// there, one class only, and so on, saying what was found and what is expected; UsageError for impossible options;
/// Interrupted after a stop request.
///
/// Image folder: one folder per class (sorted by name), images anywhere below it, of the formats of
/// data/codecs/decode.h by content. Folders train/ (training/), val/ (valid/, validation/, dev/) and test/ (testing/),
/// in capitals or not, with class folders inside are the parts; other folders with images beside them are an error, as
/// are those that look like parts under other names, and parts beside IDX or CIFAR files. What is_passed_over()
/// (data/passed_over.h) and files without an image's extension are passed over. With options.classes any tree will do.
/// IDX files: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, each also with ".idx" for
/// "-idx", and each with .gz or without; the t10k files are the test part. CIFAR files: data_batch_*.bin,
/// test_batch.bin; train.bin, test.bin; or one such file; also .gz. A packed file
/// (.safetensors, data/pack.h) is mapped into memory and comes with its split.
///
/// The files of an image folder are listed first, by their names alone, and then all decoded once, before this returns.
/// Training needs that: a damaged file has to be known before the data is divided, or the same folder would be divided
/// in another way once the damage came to light, and a resumed run would train on what was its test part before. It
/// also makes the epochs fast. Who wants the pictures alone, and need not know the bad ones first, opens Pictures
/// (data/pictures.h), which decodes nothing before it is asked to.
OpenedData open_data(const DataOptions& options);

/// Whether `location` names pictures without classes, which open_data refuses but Pictures takes: an image file, a
/// pattern that is no file's name, or a folder with image files but fewer than two classes. Throws Error where a folder
/// can't be listed.
bool has_pictures_only(const std::string& location);

}  // namespace evener::data
