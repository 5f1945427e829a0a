// Some images that a network answered, as the folder of `evener infer` keeps them for the page: answers.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::record {

/// The file in a run's folder.
inline constexpr const char* kPredictedImages = "answers.json";

struct PredictedImage {
  std::string file, found;       // the class that was found
  double score = 0;              // of it
  bool is_probability = true;    // the score; or a logit
  std::string truth;             // its own class; empty = not known
  std::string png_base64;        // a small picture of it
  std::string map_base64 = {};   // the same with where the network looked over it; empty = not known
  bool is_sure_mistake = false;  // one of the surest wrong predictions, rather than one in so many of all
  bool is_sure_right = false;    // one of the surest right predictions
};

/// Throws Error where it can't be written.
void write_predicted_images(const std::filesystem::path& path, const std::vector<PredictedImage>& predictions);
/// Throws Error naming the file and what is wrong with it: it may come from elsewhere.
std::vector<PredictedImage> read_predicted_images(const std::filesystem::path& path);

}  // namespace evener::record
