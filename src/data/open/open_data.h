// Opens the data that a user names: as a dataset that is divided into parts and ready to be read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/channel_statistics.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/skipped.h"
#include "data/split.h"

namespace evener::data {

struct OpenedData {
  std::string kind;  // "image folder", "IDX files", "synthetic", for people
  std::shared_ptr<const Dataset> dataset;
  bool came_divided = false;  // the data has parts of its own
  Split split;                // any part may be empty, train, too: a folder with test/ alone is fine for inference
  std::optional<ChannelStatistics> statistics;  // of split.train, where the data comes with them
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;  // warnings for the user: classes with one image, images outside of classes
};

/// Finds out the format of the data at `location`, and reads and decodes it in parallel (phases "read" and "decode").
/// As many decoded images as fit stay in memory; the others are decoded again whenever they are read. Throws Error when
/// nothing usable is there, one class only, and so on, saying what was found and what is expected; UsageError for
/// impossible options; Interrupted after a stop request.
///
/// Image folder: one folder per class (sorted by name), images anywhere below it, of the formats of
/// data/codecs/decode.h by content. Folders train/ (training/), val/ (valid/, validation/, dev/) and test/ (testing/),
/// in capitals or not, with class folders inside are the parts; other folders with images beside them are an error, as
/// are those that look like parts under other names, and parts beside IDX or CIFAR files. What is_passed_over()
/// (data/passed_over.h) and files without an image's extension are passed over. With options.classes any tree will do.
/// IDX files: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, each also with ".idx" for
/// "-idx", and each with .gz or without; the t10k files are the test part. CIFAR files: data_batch_*.bin,
/// test_batch.bin; train.bin, test.bin; or one such file; also .gz. A packed file
/// (.safetensors, data/open/pack.h) is mapped into memory and comes with its split.
///
/// The files of an image folder are listed first, by their names alone, and then all decoded once, before this returns.
/// Training needs that: a damaged file has to be known before the data is divided, or the same folder would be divided
/// in another way once the damage came to light, and a resumed run would train on what was its test part before. It
/// also makes the epochs fast. Who wants the pictures alone, and need not know the bad ones first, opens Pictures
/// (data/open/pictures.h), which decodes nothing before it is asked to.
OpenedData open_data(const DataOptions& options);

/// How to get `least` images to validate on where the data has fewer: "--split 55/30/15 gives 33", the first that
/// leaves half of the images to train on. `seed`: of the split.
std::string more_to_validate(const OpenedData& data, std::size_t least, std::uint64_t seed);

/// Whether `location` names pictures without classes, which open_data refuses but Pictures takes: an image file, a
/// pattern that is no file's name, or a folder with image files but fewer than two classes. Throws Error where a folder
/// can't be listed.
bool has_pictures_only(const std::string& location);

}  // namespace evener::data
