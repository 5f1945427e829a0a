// Cuts a face out of a photo, and computes its embedding by a network of ours, or one in a file of another program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "engine/engine.h"
#include "faces/find/face_detector.h"
#include "infer/model/inference_model.h"

namespace evener::faces {

/// The face with a margin: the box cut out, whole pixels, and resized to height x width as Pillow does, which is what
/// facenet-pytorch's networks were trained on. `margin`: pixels of the result, both sides together. Absent where the
/// box lies beside the photo.
std::optional<data::Picture> crop_face(const data::Picture& photo, const FaceBox& box, std::int64_t height,
                                       std::int64_t width, double margin);

/// The square that people are shown of a face: its side is a quarter longer than the longer side of `box`, and it is
/// moved or made smaller so that it lies on the photo.
FaceBox portrait_of(const data::Picture& photo, const FaceBox& box);

/// The similarity (rotation, scale, shift) that maps `from` to `to` with the least squared error:
///   x' = a x - b y + c,  y' = b x + a y + d
struct Similarity {
  double a = 1, b = 0, c = 0, d = 0;
};
Similarity similarity(const std::array<Point, 5>& from, const std::array<Point, 5>& to);

/// Writes the face as (3, H, W), turned and scaled bilinearly so that its landmarks lie at the standard places: the
/// five points of SphereFace in 96 x 112 pixels, scaled to other heights and centred at other widths (at 112 x 112
/// these are ArcFace's points). Pixels beside the photo are black.
void align_face(const data::Picture& photo, const std::array<Point, 5>& landmarks, const data::ImageShape& shape,
                std::span<std::uint8_t> chw);

/// How a face is cut out of its photo: its box (crop_face), or turned upright by its landmarks (align_face).
enum class FaceCut : std::uint8_t { kBox, kUpright };

struct EmbedderRequest {
  /// "inception_resnet_v1", "mobilefacenet", or a file (is_foreign_model).
  std::string name = "inception_resnet_v1";
  std::filesystem::path weights = {};  // of a network of ours; empty = random ones
  inference::InferenceRequest file =
      {};                           // how a network in a file takes its images; InferenceRequest::model is not used
  std::optional<FaceCut> cut = {};  // absent = as the network was trained; for one in a file kUpright if its faces
                                    // are 112 pixels high
};

/// Throws UsageError for a name that is neither a network nor a file, naming the nearest.
void check_embedder(const std::string& name);

class FaceEmbedder {
 public:
  /// `options`: device, threads of all lanes together, and precision; `lanes`: threads that call embed(). Throws Error
  /// for weights that don't fit, and for a file whose network takes no colour images or gives something else than one
  /// vector of each.
  FaceEmbedder(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);

  const data::ImageShape& face_shape() const { return shape_; }
  FaceCut cut() const { return cut_; }
  /// How many faces are best embedded in one call, which is also the most.
  std::size_t batch() const { return batch_; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// The vectors of prepared faces (3, H, W), as the network gives them. Each lane calls it from one thread.
  std::vector<std::vector<float>> embed(const std::vector<std::span<const std::uint8_t>>& faces, int lane);

 private:
  void take_ours(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);
  void take_file(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);

  std::unique_ptr<inference::InferenceModel> file_;  // the network in a file; null for one of ours
  std::vector<std::unique_ptr<engine::Runner>> runners_;
  data::ImageShape shape_;
  FaceCut cut_ = FaceCut::kBox;
  std::size_t batch_ = 8;
  std::string output_;  // the name of the output that has the embeddings
  std::vector<std::string> notes_;
};

}  // namespace evener::faces
