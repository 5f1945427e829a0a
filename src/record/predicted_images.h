// The file answers.json in the folder of `evener infer`: some images with the network's predictions. The HTML page
// shows them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::record {

/// The file in a run's folder.
inline constexpr const char* kPredictedImages = "answers.json";

struct PredictedImage {
  std::string file, found;       // file name, and predicted class
  double score = 0;              // of the predicted class
  bool is_probability = true;    // `score` is a probability; false: a logit
  std::string truth;             // true class; empty = unknown
  std::string png_base64;        // thumbnail
  std::string map_base64 = {};   // thumbnail under a class activation map; empty = unknown
  bool is_unknown = false;       // like nothing that the network was trained on
  bool is_sure_mistake = false;  // chosen as one of the surest wrong predictions
  bool is_sure_right = false;    // chosen as one of the surest right predictions
};

/// Throws Error where it can't be written.
void write_predicted_images(const std::filesystem::path& path, const std::vector<PredictedImage>& predictions);
/// Reads and checks the file, which other people may have written. Throws Error naming it and what is wrong.
std::vector<PredictedImage> read_predicted_images(const std::filesystem::path& path);

}  // namespace evener::record
