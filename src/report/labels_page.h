// The HTML page of labels that look wrong, on which a person ticks those that are, and saves a list of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evener::report {

/// A label that looks wrong. All texts are UTF-8.
struct LabelOnPage {
  std::string file;              // as lists of images name it
  std::string label, suggested;  // classes; "" = none
  double probability = 0, label_probability = 0, score = 0;
  std::string kind;                    // "wrong", "likely", "both", "neither"; "missed", "extra", "class", "fit"
  std::string part;                    // "train", ...; "" = none
  std::string small;                   // bytes of the picture, reduced to what a card shows
  std::string small_type;              // of those: "image/jpeg", "image/png"
  std::string link;                    // address of the picture at full size, relative to the page; "" = `small` is all
  std::int64_t width = 0, height = 0;  // of the picture at full size
  std::optional<std::array<double, 4>> found, labelled;  // boxes: x1, y1, x2, y2 in its pixels
};

struct LabelsPage {
  std::string title;                 // of the data
  std::vector<std::string> summary;  // sentences
  std::vector<std::string> notes;    // sentences of caution, shown first
  std::vector<LabelOnPage> labels;   // the worst first
  std::size_t all = 0;               // how many there are; `labels` may have fewer
  bool has_boxes = false;
};

/// The page, with everything inside except the pictures at full size, which it links to.
std::string labels_html(const LabelsPage& page);

}  // namespace evener::report
