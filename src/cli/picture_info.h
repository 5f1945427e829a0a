// What `evener data info` says of pictures that have no classes.
#pragma once

#include <string>

namespace evener::cli {

struct PictureInfoOptions {
  std::string location;  // a folder, a file or a pattern (data/picture_listing.h)
  int threads = 1;
  bool strict = false;  // an unusable picture is an error
  std::string json;     // a file to write, "-" = stdout, "" = none
};

/// Decodes every picture once, with its progress on stderr; prints how many there are, their sizes and colours, and
/// which are unusable. Returns the exit code. Throws Error where there is none that can be used.
int run_picture_info(const PictureInfoOptions& options);

}  // namespace evener::cli
