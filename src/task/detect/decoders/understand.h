// Understands anybody's detector: recognises its family by what its file says, and by its outputs for a trial image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess.h"
#include "task/detect/decoders/detection.h"

namespace evener::task {

/// An output of the network for a trial image.
struct TrialOutput {
  std::string name;
  std::string type;                 // of its values in the file: "f32", "i64"
  std::vector<std::int64_t> shape;  // of one image
  std::vector<float> values;

  /// Extents of a table of rows: those before the last are multiplied. Rows of one value where there is one extent.
  std::int64_t rows() const;
  std::int64_t columns() const;
};

struct DetectorFile {
  std::int64_t width = 0, height = 0;                // of the network's image
  std::vector<TrialOutput> outputs = {};             // in the file's order
  std::map<std::string, std::string> metadata = {};  // as other programs wrote it
  std::vector<std::string> classes = {};             // names that are known; empty = none
  bool is_lite = false;                              // TensorFlow Lite's
  std::string wanted = {};                           // the only decoder that is tried; empty = any

  /// A value of the metadata; "" where there is none.
  std::string told(const std::string& key) const;
  /// The first output whose name contains one of the words, in lower case; null where none does.
  const TrialOutput* named(std::initializer_list<const char*> words) const;
};

/// A detector that was recognised.
struct RecognisedDetector {
  std::string family;  // "YOLOX"
  std::shared_ptr<const BoxDecoder> decoder = {};
  std::size_t classes = 0;         // how many it tells apart; 0 = its outputs don't tell
  std::int64_t first_class = 0;    // the number that its outputs give the first class
  std::string normalization = {};  // as --normalize takes it
  bool reverse_channels = false;   // it takes blue, green, red
  data::CropMode crop = data::CropMode::kStretch;
};

// A family each; absent where the file's outputs aren't those of its networks.
std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_yolo(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_list(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_scored(const DetectorFile& file);

/// Names by the number of classes: COCO's 80; 90 or 91 numbers as COCO gives them, with gaps (91: from 0, which is the
/// background); VOC's 20. Empty for another number.
std::vector<std::string> usual_names(std::size_t count);
/// Whose names usual_names() gives: "COCO", "VOC"; "" for another number.
std::string usual_names_of(std::size_t count);

/// The other name of a class: "airplane" of COCO is VOC's "aeroplane". Empty: it has none.
std::string synonym_of(const std::string& name);

struct UnderstoodDetector : RecognisedDetector {
  std::vector<std::string> class_names;  // of all classes
  std::string named_by;                  // whose names are assumed: "COCO"; "" = the file's, a user's, or none
};

/// Throws UsageError, naming the nearest, for a name that is none of those that --decoder takes.
void check_decoder_name(const std::string& name);

/// `model`: the file's name, for messages. Throws UsageError where it is no detector, or none that is known: what its
/// outputs are, and which families are known; and where the number of names isn't that of its classes.
UnderstoodDetector understand(const DetectorFile& file, const std::string& model);

}  // namespace evener::task
