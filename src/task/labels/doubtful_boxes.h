// Labels of boxes that look wrong by what a detector finds on the same images: missed, extra, of another class, badly
// fitting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "task/detect/boxes.h"
#include "task/detect/judge.h"

namespace evener::task {

enum class BoxDoubt : std::uint8_t {
  kMissed,  // a box is found surely where no label is
  kExtra,   // a label where nothing is found
  kClass,   // a box is found surely where a label of another class is
  kFit      // a box is found surely of which a label of its class covers only a part, or more
};

using Corners = std::array<double, 4>;  // x1, y1, x2, y2 in pixels of the photo

/// A label that is in doubt, or one that isn't there.
struct DoubtfulBox {
  std::size_t image = 0;
  BoxDoubt kind = BoxDoubt::kMissed;
  std::int32_t label = -1, suggested = -1;        // -1: there is none
  double probability = 0, label_probability = 0;  // of the box found, and of one of the label's class near the label
  /// 1 = surely wrong. A missed label: the found box's score. An extra one: the recall of labels of its class and size
  /// (AreaRange), times 1 - the score of what is found near it. Another class: the found box's score, times 1 - that of
  /// the label's class. A bad fit: the found box's score, times 1 - the intersection over union.
  double score = 0;
  std::optional<Corners> found = {}, labelled = {};
};

/// The limits by which boxes are compared.
struct BoxDoubtLimits {
  double sure = 0.5;    // score of a box that is found surely
  double near = 0.3;    // intersection over union of boxes that may mean the same object
  double fits = 0.6;    // of boxes that mean the same object
  double trace = 0.05;  // score of a box that shows that something is there
};

class BoxDoubts {
 public:
  explicit BoxDoubts(BoxDoubtLimits limits) : limits_(limits) {}

  /// Compares the boxes found on an image, of any score, with its labels. Labels of crowds, and difficult ones, are
  /// neither in doubt, nor is a box on them missed.
  void add(std::size_t image, std::span<const Detection> found, std::span<const TrueBox> truth);

  /// All labels in doubt, those with the highest score first.
  std::vector<DoubtfulBox> worst_first() const;

  /// The number of labels compared.
  std::size_t labels() const { return labels_; }

 private:
  class Image;
  /// How many labels there are of a class and size, and how many of them are found.
  struct Recall {
    std::size_t labels = 0, found = 0;
  };
  using Kind = std::pair<std::int32_t, AreaRange>;

  const BoxDoubtLimits limits_;
  std::vector<DoubtfulBox> doubts_;
  std::vector<std::optional<Kind>> kinds_;  // of the extra labels among them
  std::map<Kind, Recall> recalls_;
  std::size_t labels_ = 0;
};

}  // namespace evener::task
