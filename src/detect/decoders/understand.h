// Understands anybody's detector: recognises its family by what its file says, and by its outputs for a trial image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detect/decoders/detection.h"
#include "infer/model/inference_model.h"

namespace evener::detection {

/// An output of the network for a trial image.
struct TrialOutput {
  std::string name;
  std::string type;                 // of its values in the file: "f32", "i64"
  std::vector<std::int64_t> shape;  // of one image
  std::vector<float> values;

  /// Extents of a table of rows: those before the last are multiplied. Rows of one value where there is one extent.
  std::int64_t rows() const;
  std::int64_t columns() const;
  /// Whether its name, in lower case, contains one of the words.
  bool says(std::initializer_list<const char*> words) const;
};

struct DetectorFile {
  std::int64_t width = 0, height = 0;                // of the network's image
  std::vector<TrialOutput> outputs = {};             // in the file's order
  std::map<std::string, std::string> metadata = {};  // as other programs wrote it
  std::vector<std::string> classes = {};             // names that are known, "" = a number without; empty = none
  bool names_are_unread = false;                     // it has names, which can't be read
  bool is_lite = false;                              // TensorFlow Lite's
  std::string wanted = {};                           // the only decoder that is tried; empty = any

  bool may_be(std::string_view decoder) const { return wanted.empty() || wanted == decoder; }
};

/// A detector that was recognised, and not yet the names of its classes. A crop that is absent is kStretch. It has a
/// doubt where the shapes of its outputs are those of the family, and their values or names don't make it sure.
struct RecognisedDetector : inference::FileHabits {
  RecognisedDetector(std::string family_name, std::string normalized, BoxDecoder reader, std::size_t count = 0);

  std::size_t class_count;       // how many it tells apart; 0 = its outputs don't tell
  std::int64_t first_class = 0;  // the number that its outputs give the first class
};

// A family each; absent where the file's outputs aren't those of its networks.
std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_yolo(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_list(const DetectorFile& file);
std::optional<RecognisedDetector> recognise_scored(const DetectorFile& file);

/// What the scores of a trial image look like: where nothing is, probabilities are small, and logits negative.
enum class ScoreLook : std::uint8_t { kProbabilities, kLogits, kNeither };
ScoreLook look_of(std::span<const float> scores);
/// "0.1 to 44"
std::string extent_text(std::span<const float> values);

/// Names by the number of classes: COCO's 80; 90 or 91 numbers as COCO gives them, with gaps (91: from 0, which is the
/// background); VOC's 20. Empty for another number.
std::vector<std::string> usual_names(std::size_t count);

/// The other name of a class: "airplane" of COCO is VOC's "aeroplane". Empty: it has none.
std::string synonym_of(const std::string& name);

/// Throws UsageError, naming the nearest, for a name that is none of those that --decoder takes.
void check_decoder_name(const std::string& name);

/// `model`: the file's name, for messages. Throws UsageError where it is no detector, or none that is known: what its
/// outputs are, and which families are known; where it isn't sure which of them it is; and where the number of names
/// isn't that of its classes.
inference::FileHabits understand(const DetectorFile& file, const std::string& model);

}  // namespace evener::detection
