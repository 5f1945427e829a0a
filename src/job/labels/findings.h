// What `evener data labels` found, whatever the kind of data.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/skipped.h"

namespace evener::job {

/// A label that looks wrong. Names of files and classes are bytes as they are on disk.
struct LabelFinding {
  std::size_t index = 0;  // of the image, for LabelFindings::picture
  std::string file;
  std::string label, suggested;                   // "" = none
  double probability = 0, label_probability = 0;  // of the suggested class and of the label
  double score = 0;                               // 1 = surely wrong
  std::string kind;  // "wrong", "likely", "both", "neither"; "missed", "extra", "class", "fit"
  std::string part;  // "train", "validation", ...; "" = the data isn't divided
  std::optional<std::array<double, 4>> found = {};  // boxes: x1, y1, x2, y2 in pixels of the photo; the one that was
                                                    // found, and the label's
  std::optional<std::array<double, 4>> labelled = {};
};

/// How many labels of a class are estimated to be another's.
struct LabelPair {
  std::string label, suggested;
  std::size_t found = 0;
  double estimated = 0;  // number of labels, by the confident joint
  double share = 0;      // of all images with that label
};

struct LabelFindings {
  std::string location;
  bool has_boxes = false;
  std::size_t images = 0, labels = 0;    // that were judged
  std::vector<LabelFinding> found = {};  // the worst first; of classes the kinds one after the other
  std::vector<LabelPair> pairs = {};     // of classes, the most first
  double estimated = 0;                  // of classes: labels that are wrong
  std::optional<double> accuracy = {};   // of classes: how often the judging heads agree with the label
  std::string judged_by = {};            // a sentence: what the labels were judged by
  std::vector<std::string> notes = {};   // sentences of caution
  std::vector<data::Skipped> skipped = {};
  /// The image of a finding, at its own size where it is a file. Thread-safe. Throws Error.
  std::function<data::Picture(std::size_t index)> picture = {};
};

}  // namespace evener::job
