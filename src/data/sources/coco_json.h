// COCO's JSON of instances.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// A file of more bytes is refused; the training part of COCO 2017 has 0.45 GB.
constexpr std::uint64_t kMaxCocoBytes = std::uint64_t{4} << 30;

/// How many lists such a file has: "images", "annotations" and "categories".
constexpr std::size_t kCocoLists = 3;

/// How many of them the object of a file begins in `beginning`, the first of its bytes; 0 for what is no JSON.
std::size_t coco_lists_in(std::string_view beginning);

/// Numbers that join the lists are kept as text: 0 is one of them, and some programs write them as texts.
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
  std::vector<std::string> problems;  // a sentence for each element that was left out, for it lacks something
};

/// Reads the bytes of a file without keeping what isn't asked for, such as masks. Throws Error with the reason alone:
/// no JSON, cut short, without the lists "images", "annotations" and "categories".
CocoFile parse_coco(std::string_view file);

}  // namespace evener::data
