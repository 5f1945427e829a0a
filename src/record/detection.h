// The file detection.json in the folder of `evener detect`: how well a detector found the true boxes. The HTML page
// shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evener::record {

// The file answers.json in the folder of `evener infer`: some images with the network's predictions. The HTML page
// shows them.

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

/// The file in a run's folder.
inline constexpr const char* kDetection = "detection.json";

struct DetectedClass {
  std::string name;
  std::int64_t true_boxes = 0;
  std::optional<double> voc_2007, voc_2010, coco;  // average precision; absent without true boxes
  std::vector<double> recall, precision, score;    // the curve at an intersection over union of 0.5
};

/// An image with missed or wrong boxes.
struct MissedImage {
  std::string file;
  std::int64_t missed = 0, wrong = 0;
  std::string jpeg_base64;  // with boxes drawn
};

struct DetectionFigures {
  double confidence = 0;  // threshold of boxes in confusion and misses
  std::vector<DetectedClass> classes;
  std::vector<std::vector<std::int64_t>> confusion;  // [true class][found class], the background last
  std::vector<MissedImage> misses;                   // the worst first
};

/// Throws Error where it can't be written.
void write_detection(const std::filesystem::path& path, DetectionFigures figures);
/// Reads and checks the file, which other people may have written. Throws Error naming it and what is wrong.
DetectionFigures read_detection(const std::filesystem::path& path);

}  // namespace evener::record
