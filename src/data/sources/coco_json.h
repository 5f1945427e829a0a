// COCO's JSON of instances.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::data {

/// A file of more bytes is refused; the training part of COCO 2017 has 0.45 GB.
constexpr std::uint64_t kMaxCocoBytes = std::uint64_t{4} << 30;

/// How many lists such a file has: "images", "annotations" and "categories".
constexpr std::size_t kCocoLists = 3;

/// What the first bytes of a file show of its JSON object.
struct CocoGlance {
  std::size_t lists = 0;                       // how many of the three lists begin in these bytes; 0 if it is no JSON
  bool has_images = false, has_boxes = false;  // the lists have elements such as COCO's
  bool ends_early = false;                     // the JSON is damaged, or goes on beyond these bytes
  bool is_damaged = false;                     // the JSON is damaged within these bytes
};
CocoGlance glance_at_coco(std::string beginning);

/// An element of "images". Ids are kept as text, since some programs write them as texts.
struct CocoImage {
  std::string id, file_name;
  std::int64_t width = 0, height = 0;  // 0 if it doesn't say
};
struct CocoBox {
  std::string image_id, category_id;
  double x = 0, y = 0, width = 0, height = 0;  // from the upper left corner, in pixels counted from 0
  bool is_crowd = false;
};
struct CocoCategory {
  std::string id, name;
};

struct CocoFile {
  std::vector<CocoImage> images;
  std::vector<CocoBox> boxes;
  std::vector<CocoCategory> categories;
  std::vector<std::string>
      problems;  // a sentence for each kind of elements that were left out because they lack something
};

/// Parses a file's text, and skips what isn't needed, such as masks: JSON with comments, and with the NaN and Infinity
/// that Python writes; numbers may be texts. Throws Error with the reason alone: no JSON, cut short, without the lists
/// "images", "annotations" and "categories".
CocoFile parse_coco(std::string file);

}  // namespace evener::data
