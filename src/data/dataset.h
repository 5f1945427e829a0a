// Labelled images, all brought to one shape, readable in any order from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evener::data {

struct ImageShape {
  std::int64_t channels = 0;  // 1 grey, 3 RGB
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const ImageShape&) const = default;
};

/// Labelled images of one shape.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  virtual ImageShape shape() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual std::int32_t label(std::size_t index) const = 0;
  /// Writes sample `index` as uint8 (C, H, W) into `chw` (shape().bytes() long). Thread-safe. Throws Error if a file
  /// that could be opened before can't be read any more.
  virtual void read(std::size_t index, std::span<std::uint8_t> chw) const = 0;
  /// Where sample `index` lies in memory, just as read() would write it; null: it has to be made, and read() does that.
  virtual const std::uint8_t* pixels(std::size_t index) const {
    static_cast<void>(index);
    return nullptr;
  }
  /// The file (or "#17") the sample comes from, for messages and predictions.csv.
  virtual std::string source(std::size_t index) const = 0;
};

/// Which samples are for what.
struct Split {
  std::vector<std::uint32_t> train, val, test;
};

/// An input that was left out, and why.
struct Skipped {
  std::string file;
  std::string reason;
};

/// Is told, on the thread of the caller, how much of a long piece of work is done.
using Progress = std::function<void(std::size_t done, std::size_t count)>;
/// Files of a folder that form a class, by their paths relative to it ("bream", "Bream GT/**"; base/glob.h).
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
  /// A folder of images, of IDX or of CIFAR files, a packed or a CIFAR file, "synth:masks[:N]", "synth:digits[:N]".
  std::string location;
  /// Absent = of the data: for image folders the first readable image's size, upright.
  std::optional<std::int64_t> width, height;
  /// 1 or 3; absent = of the data: for image folders 3 if any of up to 64 images spread over it is in colour.
  std::optional<std::int64_t> channels;
  /// Percent of train, val[, test]; empty = 85/2/13. Divides data that comes undivided. Data with its own test part but
  /// no validation part has its training part divided in the proportion of the first two numbers. Data with its own
  /// validation part can't be divided again: UsageError.
  std::vector<double> split;
  std::uint64_t seed = 1;           // of the split and of synthetic data
  int threads = 1;                  // for decoding
  bool strict = false;              // a bad image is an error, not skipped
  std::vector<ClassFiles> classes;  // of image folders; empty = one folder per class
  DecodeMode decode = DecodeMode::kExact;
  /// Is told the number and shape of an image folder's files before they are decoded; may throw.
  std::function<void(std::size_t, const ImageShape&)> before_decoding = {};
  std::size_t cache_limit_bytes = 0;  // keep decoded images in memory up to this; 0 = half the available memory
  Progress progress;                  // of the decoding, in images; may be empty
};

/// Per channel, of value / 255.
struct ChannelStatistics {
  std::vector<float> mean, standard_deviation;
};

struct OpenedData {
  std::string kind;  // "image folder", "IDX files", "synthetic", for people
  std::shared_ptr<const Dataset> dataset;
  Split split;  // parts may be empty, also train: a folder with test/ alone is fine for inference
  std::optional<ChannelStatistics> statistics;  // of split.train, where the data has them stored
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;  // what a user should know: classes with one image, images outside of classes
};

/// Finds out what `location` is, reads and decodes it in parallel (phases "read" and "decode"). Decoded images stay in
/// memory as far as they fit; the others are decoded again whenever they are read. Throws Error when nothing usable is
/// there, one class only, and so on, saying what was found and what is expected; UsageError for impossible options;
/// Interrupted after a stop request.
///
/// Image folder: one folder per class (sorted by name), images anywhere below it, of the formats of data/decode.h by
/// content. Folders train/, val/ (valid/, validation/) and test/ with class folders inside are the parts. Names that
/// begin with a dot and files without an image's extension are passed over. With options.classes any tree will do. IDX
/// files: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, each also with ".idx" for "-idx", and each with .gz or
/// without; the t10k files are the test part. CIFAR files: data_batch_*.bin, test_batch.bin; train.bin, test.bin; or
/// one such file; also .gz. A packed file
/// (.safetensors, data/pack.h) is mapped into memory and comes with its split.
OpenedData open_data(const DataOptions& options);

/// Stratified, seeded split: each class is divided by `percent` (train, val[, test]; sum <= 100), to the nearest whole
/// samples; every class with at least as many samples as there are non-zero parts has one in each; a class with fewer
/// has its first sample in train. Indices ascend within a part. Throws UsageError for impossible percentages.
Split stratified_split(const std::vector<std::int32_t>& labels, std::size_t class_count,
                       const std::vector<double>& percent, std::uint64_t seed);

/// Per-channel mean and standard deviation of value / 255 over `samples`; exact, whatever the number of threads.
/// A channel that never varies has deviation 1, so that it can be divided by. Throws Error for no samples.
ChannelStatistics channel_statistics(const Dataset& dataset, std::span<const std::uint32_t> samples, int threads,
                                     const Progress& progress = {});

}  // namespace evener::data
