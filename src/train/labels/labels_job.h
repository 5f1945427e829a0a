// Finds images whose class looks wrong, and writes them down.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "data/codecs/picture.h"
#include "data/skipped.h"
#include "measure/run/observer.h"
#include "train/labels/options.h"
#include "train/labels/wrong_labels.h"

namespace evener::training {

/// A label that looks wrong. Names of files and classes are bytes as they are on disk.
struct LabelFinding {
  std::size_t index = 0;  // of the image, for LabelFindings::picture
  std::string file, label, suggested;
  double probability = 0, label_probability = 0;  // of the suggested class and of the label
  double score = 0;                               // 1 = surely wrong
  LabelDoubt kind = LabelDoubt::kWrong;
  std::string part;  // "train", "validation", ...; "" = the data isn't divided
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
  std::size_t images = 0;                // that were judged, each with its label
  std::vector<LabelFinding> found = {};  // kind by kind, the worst first
  std::vector<LabelPair> pairs = {};     // the most first
  double estimated = 0;                  // labels that are wrong
  double accuracy = 0;                   // how often the judging heads agree with the label
  std::string judged_by = {};            // a sentence: what the labels were judged by
  std::vector<std::string> notes = {};   // sentences of caution
  std::vector<data::Skipped> skipped = {};
  /// The image of a finding, at its own size where it is a file. Thread-safe. Throws Error.
  std::function<data::Picture(std::size_t index)> picture = {};
};

/// Judges the labels by cross-validated heads on features of a network or of pixels, by confident learning, with copies
/// of one image in one fold (data/copies.h). Writes labels.csv and labels.html into the folder of --out, if there is
/// one. Throws UsageError, also for data with boxes; Error, Interrupted.
LabelFindings find_labels(const LabelsCommandFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::training
