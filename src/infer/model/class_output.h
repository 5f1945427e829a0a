// Chooses the output of a network that holds the scores of classes, by the shapes of the outputs and the number of
// class names; makes probabilities of scores; and knows the names of classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace evener::inference {

struct NetworkOutput {
  std::string name;
  std::vector<std::int64_t> shape;  // of one sample; -1 = any extent
  std::string type = "f32";         // of its values in the file
  bool rank_is_known = true;
};

struct ClassOutput {
  std::size_t index = 0;        // of the chosen output
  std::int64_t classes = 0;     // how many scores it has; -1 = not known
  bool from_one_value = false;  // one value for two classes: it is split into a score for each
  std::string note = {};        // why this output was chosen, where that isn't plain
  std::string refusal = {};     // why no output can hold classes, and what to do; "" = one can
};

/// `labels`: the number of known class names, 0 = none. `wanted`: the name of the output to take; "" = the one with as
/// many values as there are names, or else the first that is a row of values. Throws UsageError where no output has the
/// wanted name.
ClassOutput choose_class_output(const std::vector<NetworkOutput>& outputs, std::size_t labels,
                                const std::string& wanted);

/// "3x?x?"
std::string open_shape_text(const std::vector<std::int64_t>& shape);

/// "'boxes' 25200x85"
std::string output_text(const NetworkOutput& output);

/// Why the number of `labels` doesn't fit the output, and what to do; "" where it fits.
std::string label_mismatch(const ClassOutput& chosen, const NetworkOutput& output,
                           const std::vector<std::string>& labels);

/// What the scores of classes are. kAuto: whatever their values tell.
enum class OutputType { kAuto, kProbabilities, kLogits };

/// Whether values are no probabilities: some lie outside 0 to 1 by more than rounding.
bool has_logits(std::span<const float> values);

/// Whether scores are probabilities already. `holds`: what is known of them. With kAuto they are where all lie from 0
/// to 1 and their sum is 1 within a hundredth, or all are multiples of 1/256, as a softmax in bytes is. Throws Error
/// where they are said to be, and one lies outside.
bool are_probabilities(std::span<const float> scores, OutputType holds);

/// A class with its probability or raw score.
struct ClassScore {
  std::size_t index = 0;
  float score = 0;
};

/// The `count` classes of the highest scores, the highest first; of equal ones the first. `told`: kLogits for the
/// scores as they are, else probabilities, which are the softmax of the scores unless these are probabilities already
/// (are_probabilities()). kProbabilities also leaves scores from 0 to 1 of which nothing is known as they are, whatever
/// their sum: several classes may be right. A probability is NaN where a score is, or is infinitely high.
std::vector<ClassScore> top_classes(std::span<const float> scores, std::size_t count, OutputType told,
                                    OutputType holds = OutputType::kAuto);

/// Reads the names. Throws Error where the file can't be read.
std::vector<std::string> read_labels(const std::filesystem::path& path);

/// The file in which `evener data fetch` stores the class names of weights: "resnet18.classes.txt" beside
/// "resnet18.pth".
std::filesystem::path labels_beside(const std::filesystem::path& weights);

/// The names of the 1000 classes in the order of the challenge (ILSVRC 2012, by WordNet's numbers), or of 1001 where
/// the first is the background, as TensorFlow's networks have it. Empty for another number.
std::vector<std::string> imagenet_names(std::size_t outputs);

}  // namespace evener::inference
