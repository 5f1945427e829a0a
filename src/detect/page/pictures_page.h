// The HTML page of pictures and what was found on them, which can be filtered by class and probability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::detection {

struct ClassOnPage {
  std::string name;
  std::string colour;  // "#d55e00"
};

struct BoxOnPage {
  std::int32_t label = 0;  // its index in the classes
  double score = 0;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // shares of the picture's width and height; all 0: it is of the whole picture
};

struct PictureOnPage {
  std::string file;            // name of the photo
  std::string picture, small;  // files relative to the page: at full size ("": there is none), and a thumbnail, which
                               // may be an address "data:..." instead
  std::int64_t width = 0, height = 0;
  std::vector<BoxOnPage> boxes;  // the likeliest first
  std::string told = {};         // a text below the file's name
};

struct PicturesPage {
  std::string title = "What was found";
  std::string noun = "box";             // what is counted
  std::vector<std::string> notes = {};  // sentences above the pictures
  double least = 0;                     // lowest probability of the boxes
  std::vector<ClassOnPage> classes;
  std::vector<PictureOnPage> pictures;
};

/// The page, which opens offline but needs the files of its pictures beside it.
std::string pictures_html(const PicturesPage& page);

}  // namespace evener::detection
