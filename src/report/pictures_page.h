// One HTML page of pictures on which objects were found, to look through by class and probability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::report {

struct ClassOnPage {
  std::string name;
  std::string colour;  // "#d55e00"
};

struct BoxOnPage {
  std::int32_t label = 0;  // its index in the classes
  double score = 0;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // shares of the picture's width and height
};

struct PictureOnPage {
  std::string file;            // of the photo, as people know it
  std::string picture, small;  // files with boxes drawn, and a small one without, relative to the page
  std::int64_t width = 0, height = 0;
  std::vector<BoxOnPage> boxes;  // the likeliest first
};

struct PicturesPage {
  double least = 0;  // probability of the boxes
  std::vector<ClassOnPage> classes;
  std::vector<PictureOnPage> pictures;
};

/// The page; it opens without a network, beside the files of its pictures.
std::string pictures_html(const PicturesPage& page);

}  // namespace evener::report
